"""Our models, and attached ones, registered with pyvene, which interchanges vectors of types that it knows."""

from torch import nn

from tprprobe.errors import InputError, check_extra
from tprprobe.site.hooks import find_sites

OUTPUT = "register_forward_hook"  # what pyvene calls a place behind a module


def register_pyvene(model: nn.Module) -> list[str]:
    """The sites of a model, registered as components for pyvene's configurations.

    ``pyvene.IntervenableModel({"component": "encoder.0.self.role"}, model)`` then works as with a model of
    transformers. Sites without a fixed width, such as attention maps, are left out.

    Args:
        model: The model.

    Returns:
        The names of the components.

    Raises:
        InputError: pyvene is not installed, or the model has no sites of fixed width.

    Examples:
        >>> "encoder.0.self.role" in tp.register_pyvene(model)  # doctest: +SKIP
        True
    """
    check_extra("pyvene", "interchange", "register_pyvene")
    import pyvene

    sites = find_sites(model)
    sites_with_width = {name: site for name, site in sites.items() if site.width is not None}
    if not sites_with_width:
        raise InputError(f"{type(model).__name__} has no sites of fixed width to interchange")
    places = pyvene.type_to_module_mapping.setdefault(type(model), {})
    widths = pyvene.type_to_dimension_mapping.setdefault(type(model), {})
    for name, site in sites_with_width.items():
        places[name] = (name, OUTPUT)
        widths[name] = (str(site.width),)
    return list(sites_with_width)
