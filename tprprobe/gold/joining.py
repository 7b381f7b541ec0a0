"""Gold columns beside the token table of a store of arithmetic questions."""

import numpy as np
import pandas as pd

from tprprobe.errors import InputError
from tprprobe.gold.structure import COLUMNS, KINDS, annotate

ENDS = {"<sos>": "sos", "<eos>": "eos"}
FOREIGN = "the source tokens of this store are not the characters of its questions"


def join(tokens: pd.DataFrame) -> pd.DataFrame:
    """The token table with the gold columns of every source character; on the target side they are missing.

    Args:
        tokens: The tokens of a store of questions. Character i of a question is the token at position i + 1; ``<sos>``
            and ``<eos>`` have a kind only.

    Returns:
        The table with further columns; see [columns](columns.md#gold-structure).

    Raises:
        InputError: The source tokens are not the characters of their questions.

    Examples:
        >>> "polarity" in tp.gold.join(store.tokens)
        True
    """
    if "question" not in tokens:
        raise InputError(f"{FOREIGN}: there are no questions in it")
    source = np.asarray(tokens["side"] == "source")
    text = tokens["token"].astype(str).to_numpy()
    ends = source & np.isin(text, list(ENDS))
    gold = annotate(tokens.loc[source].drop_duplicates("sample")["question"].astype(str))
    rows = np.full(len(tokens), -1)
    rows[source & ~ends] = np.arange((source & ~ends).sum())
    columns = gold.reindex(rows).loc[:, COLUMNS].set_index(tokens.index)
    characters = tokens.loc[source & ~ends]
    given = characters["token"].astype(str).to_numpy(), characters["position"].to_numpy() - 1
    wanted = gold["char"].to_numpy(), gold["position"].to_numpy()
    if len(gold) != len(characters) or not all(map(np.array_equal, given, wanted)):
        raise InputError(
            f"{FOREIGN}: gold structure is for arithmetic questions read character by character"
        )
    kind = columns["kind"].to_numpy(object)
    kind[ends] = [ENDS[end] for end in text[ends]]
    return pd.concat([tokens, columns.assign(kind=pd.Categorical(kind, KINDS))], axis=1)
