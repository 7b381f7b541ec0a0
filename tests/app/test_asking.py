"""Ask: what a model is asked, edits of it by clicks, and what is said of them."""

import re
from dataclasses import replace

import pytest
import torch
import transformers
from planted.foreign import save_foreign
from planted.tokenizers import train_bytes

import tprprobe as tp
from tprprobe.dashboard import changes
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.interventions import prompt_edits, prompts
from tprprobe.models.protocol import require_vocabulary
from tprprobe.site.hooks import intervene

LEAD = "Roles of ‘12’ (1) and ‘45’ (7) exchanged: the answer"


@pytest.fixture(scope="module")
def prompt(make_model):
    return prompts.query_text(make_model(fluent=True, seed=4), "12/(3-45)")


def read_lead(app):
    return app.markdown[0].value.replace("\\", "")


def test_two_numbers_of_as_many_digits_change_places_with_the_exact_answer(prompt):
    assert prompts.exact_answer(prompt) == "-2/7"
    change = prompt_edits.exchange_tokens(prompt, "roles", 2, 8)  # in 12 and in 45
    assert (change.first_word, change.second_word) == ((1, 2), (7, 8))
    table, row = prompt_edits.try_change(prompt, change)
    assert (row["predicted"], row["by"]) == ("-5", changes.ARITHMETIC)  # 45/(3-12)
    assert {row["old answer"], row["new answer"], "-5"} <= {*table["answer"]}
    assert torch.allclose(*(torch.tensor(table[w]) for w in (prompts.UNEDITED, changes.BACK)))
    single = prompt_edits.exchange_tokens(prompt, "roles", 1, 5)  # 12 and 3: single digits
    assert (single.first_word, single.second_word) == ((1,), (5,))
    with pytest.raises(InputError, match="choose two"):
        prompt_edits.exchange_tokens(prompt, "roles", 1, 1)


def test_an_edit_that_changes_nothing_changes_no_answer(prompt):
    _, row = prompt_edits.try_change(prompt, prompt_edits.Change("nothing", {}))
    assert row["new answer"] == row["old answer"]
    assert row["probability of old, edited"] == pytest.approx(row["probability of old, as it is"])
    assert "stays" in changes.summarize_change(row)
    every = [(site, n) for site, maps in prompt_edits.find_heads(prompt).items() for n in range(len(maps))]  # fmt: skip
    gone = [prompt_edits.try_change(prompt, prompt_edits.ablate_head(*head))[1] for head in every]
    changed = [row for row in gone if row["new answer"] != row["old answer"]]
    assert changed
    summary = changes.summarize_change(changed[0])
    assert f"the answer ‘{changed[0]['old answer']}’" in summary
    assert f"becomes ‘{changed[0]['new answer']}’" in summary
    assert "predicted" not in summary


def test_a_text_without_end_is_refused_before_it_is_read(prompt):
    with pytest.raises(InputError, match="of 5001 characters: give at most 4000"):
        prompts.query_text(prompt.model, "1+" * 2500 + "1")


def test_the_start_symbol_is_no_part_of_a_question(prompt):
    _, row = prompt_edits.try_change(prompt, prompt_edits.exchange_tokens(prompt, "roles", 0, 1))
    assert row["by"] == prompts.WORDS_EXCHANGED


def test_a_word_goes_with_all_its_pieces(make_model):
    english = require_vocabulary(tp.load_model("tpt-d-english"))
    text = "Airbus strikes Hawaii."
    words = prompts.group_words(text, english)
    subwords = [english.spell([token]) for token in english.encode(text)]
    airbus = tuple(
        i for i, _ in enumerate(subwords) if "".join(subwords[: i + 1]).strip() in "Airbus"
    )
    assert len(airbus) > 1
    assert words[0] == words[airbus[-1]] == airbus
    assert words[airbus[-1] + 1] == (airbus[-1] + 1,)  # strikes
    assert words[-2] == (len(words) - 2,)  # the full stop; the end symbol is no word
    assert prompt_edits.find_words(words, 0, airbus[-1] + 1) == ((0,), (airbus[-1] + 1,))
    characters = require_vocabulary(make_model(fluent=True, seed=4))
    assert prompts.group_words("+120/7", characters)[3] == (2, 3, 4)  # behind the start symbol


def test_words_change_places_without_their_blanks():
    symbols, merges = train_bytes("dog cat", "cat dog")
    tokenizer = transformers.GPT2TokenizerFast(vocab=symbols, merges=merges)
    sizes = {"n_positions": 16, "n_embd": 8, "n_layer": 1, "n_head": 2}
    config = transformers.GPT2Config(vocab_size=len(tokenizer), **sizes)
    model = tp.load_model(transformers.GPT2LMHeadModel(config).eval(), tokenizer)
    prompt = prompts.query_text(model, "dog sees cat")
    change = prompt_edits.exchange_tokens(prompt, "states at layer 0", 0, 2)
    exchanged, _ = prompt_edits.list_inputs(prompt, change)[prompts.WORDS_EXCHANGED]
    assert tokenizer.decode(exchanged[0]) == "cat sees dog"


def test_pairs_of_numbers_are_offered(prompt):
    question = replace(prompt, text="3/4 + 5/4")
    assert prompt_edits.list_pairs(question) == [("3 ↔ 4: numerator and denominator", 1, 3)]
    assert prompt_edits.list_pairs(replace(prompt, text="no question")) == []


def test_a_caption_has_words_unbinding_vectors_and_no_heads():
    image = prompts.query_image(tp.load_model("tpgn-scenes"), 0)
    table, row = prompt_edits.try_change(
        image, prompt_edits.exchange_tokens(image, "sentence TPRs", 1, 2)
    )
    assert " ".join(image.tokens) == row["old answer"]
    assert {*table} == {"answer", prompts.UNEDITED, prompts.EDITED}
    assert {*prompt_edits.list_kinds(image)} == {"fillers", *list(prompt_edits.KINDS)[3:]}
    assert not prompt_edits.find_heads(image)
    assert prompt_edits.list_pairs(image) == []


def test_a_link_opens_with_its_experiment_and_says_what_changed_first(open_page, asked_runs):
    app = open_page(asked_runs, "ask", text="12/(3-45)", picked="2,8")
    assert not app.exception
    assert read_lead(app).startswith(LEAD)
    assert "Arithmetic gives ‘-5’" in read_lead(app)
    assert app.dataframe[1].value["predicted"].tolist() == ["-5"]
    app.text_area(key="text").set_value("7/8").run()  # what was picked was of another text
    assert not app.exception
    assert "answers: ‘" in read_lead(app)
    assert "the exact answer is 7/8" in read_lead(app)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" ", "an empty text"),
        ("日本", "is not in the vocabulary"),
        ("1+" * 99 + "1", "at most 160 are accepted"),
    ],
)
def test_what_cannot_be_asked_is_one_line(open_page, asked_runs, text, message):
    app = open_page(asked_runs, "ask", text=text)
    assert not app.exception
    (warning,) = app.warning
    assert message in warning.value.replace("\\", "")
    assert len(warning.value.replace("\\", "")) <= 300
    assert "\n" not in warning.value


@pytest.mark.parametrize("picks", ["<b>", "9999,1", "1,1", "encoder.9.self.role:1", "1:" * 999])
def test_picks_that_say_nothing_are_left(open_page, asked_runs, picks):
    app = open_page(asked_runs, "ask", picked=picks)
    assert not app.exception
    assert re.match("tiny answers: ‘", read_lead(app))


def test_two_words_of_any_model_with_a_head_exchange_their_states(make_model):
    model = make_model(fluent=True, seed=4)
    prompt, swapped_prompt = (replace(prompts.query_text(model, text), answer=None) for text in ("12/(3-45)", "45/(3-12)"))  # fmt: skip
    kind = next(kind for kind in prompt_edits.list_kinds(prompt) if kind.startswith("states"))
    change = prompt_edits.exchange_tokens(prompt, kind, 1, 8)  # 12 and 45
    output = prompts.read_output(prompt, prompt_edits.list_inputs(prompt, change))
    assert {*output.table} == {"next word", "as it is", *changes.MEANINGS}
    ways = (prompts.UNEDITED, changes.BACK, prompts.EDITED)
    plain, back, edited = (output.table[way] for way in ways)
    assert plain.tolist() == pytest.approx(back.tolist())  # the states put back change nothing
    assert (plain - edited).abs().max() > 10 * (plain - back).abs().max()
    swapped_words = prompts.read_output(
        swapped_prompt, prompt_edits.list_inputs(swapped_prompt)
    ).table.set_index("next word")
    exchanged = output.table.set_index("next word")[prompts.WORDS_EXCHANGED]
    words = swapped_words.index.intersection(exchanged.index)
    assert words[0] == exchanged.idxmax()
    expected = swapped_words.loc[words, prompts.UNEDITED].tolist()
    assert exchanged[words].tolist() == pytest.approx(expected)
    largest = output.table[[prompts.UNEDITED, prompts.EDITED, prompts.WORDS_EXCHANGED]].max(axis=1)
    assert largest.is_monotonic_decreasing
    row = prompt_edits.compare_to_expected(output, change.description)
    others = output.table[~output.table["next word"].isin([row["old next word"], row["new next word"]])]  # fmt: skip
    change_of = (others[prompts.EDITED] - others[prompts.UNEDITED]).abs()
    assert row["other next word"] == others.loc[change_of.idxmax(), "next word"]
    row |= {"probability of other, as it is": 0.25, "probability of other, edited": 0.5}
    summary = changes.summarize_change(row)
    assert f"{kind.capitalize()} of ‘12’ (1) and ‘45’ (7) exchanged: the next word" in summary
    assert f"Of the others, ‘{row['other next word']}’ changes most: 0.250, now 0.500" in summary


@pytest.mark.parametrize(
    ("family", "head", "n_sites"),
    [("bert", None, 0), ("bert", "masked", 0), ("deberta", None, 2), ("gpt2", None, 2), ("gpt2", "causal", 3)],
)  # fmt: skip
def test_states_that_an_exchange_only_moves_are_not_offered(tmp_path, family, head, n_sites):
    torch.manual_seed(0)
    model = tp.load_model(f"hf:{save_foreign(family, tmp_path, head)}")
    prompt = prompts.query_text(model, "the dog sees a cat")
    states = prompts.list_states(model)
    kinds = prompt_edits.list_kinds(prompt)
    offered = [kind for kind in kinds if kind.startswith("states")]
    assert len(offered) == n_sites
    assert "fillers" in kinds
    for kind in kinds if head is None else []:
        change = prompt_edits.exchange_tokens(prompt, kind, 1, len(prompt.tokens) - 1)
        mean = prompt.run(prompt.source, states[-1])[states[-1]].mean(1)
        with intervene(model, change.edits):
            edited_mean = prompt.run(prompt.source, states[-1])[states[-1]].mean(1)
        assert (mean - edited_mean).abs().max() > 3e-6  # 1e-7: rounding


@pytest.mark.parametrize("head", [None, "causal"])
def test_salience_and_an_edited_text_open_on_the_page(open_page, tmp_path, monkeypatch, head):
    family = "gpt2" if head else "bert"
    folder = save_foreign(family, tmp_path / "runs" / "model", head)
    data = tp.load_data(["the dog sees cats", "a cat sees the dogs", "dogs see www.a.org"])
    model = tp.load_model(f"hf:{folder}")
    extract(model, data, "*.1.hidden", tmp_path / "runs" / "store", control=False)
    app = open_page(tmp_path / "runs", "ask", text="the dog sees a cat", edited="the dog sees cats")
    app.button[0].click().run()
    assert not app.exception
    for key in ("salience", "beside"):
        app.session_state[f"fold-{key}"] = True
    app.run()
    assert not app.exception
    assert not app.warning
    text = " ".join(block.value.replace("\\", "") for block in app.markdown)
    assert "(one token replaced by random ones)" in text
    assert "States differ most" in text
