"""Our models, and attached ones, registered with pyvene, which interchanges vectors of types that it knows."""

from torch import nn

from tprprobe.errors import InputError, check_extra
from tprprobe.site.hooks import find_sites

OUTPUT = "register_forward_hook"  # what pyvene calls a place behind a module


def register_pyvene(model: nn.Module) -> list[str]:
    """The components of a model for pyvene's configurations: its sites, by name.

    ``pyvene.IntervenableModel({"component": "encoder.0.self.role", …}, model)`` then works as with a
    model of transformers. A site that has no fixed width, such as a map, is none.

    Raises:
        InputError: pyvene is not installed, or the model has no sites.
    """
    check_extra("pyvene", "interchange", "register_pyvene")
    import pyvene

    named = {name: site for name, site in find_sites(model).items() if site.width is not None}
    if not named:
        raise InputError(f"{type(model).__name__} has no sites of fixed width to interchange")
    places = pyvene.type_to_module_mapping.setdefault(type(model), {})
    widths = pyvene.type_to_dimension_mapping.setdefault(type(model), {})
    for name, site in named.items():
        places[name] = (name, OUTPUT)
        widths[name] = (str(site.width),)
    return list(named)
