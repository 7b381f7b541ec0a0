"""Ask: what a model is asked, edits of it by clicks, and what is said of them."""

import re
from dataclasses import replace

import pytest
import torch

import tprprobe as tp
from tprprobe.dashboard import attention, experiments, next_words
from tprprobe.dashboard import example_edits as changes
from tprprobe.dashboard import live_example as dialogue
from tprprobe.errors import InputError
from tprprobe.models.protocol import require_vocabulary

LEAD = "Roles of ‘12’ (1) and ‘45’ (7) exchanged: the answer"


@pytest.fixture(scope="module")
def asked(make_model):
    return dialogue.pose(make_model(fluent=True, seed=4), "12/(3-45)")


def read_lead(app):
    return app.markdown[0].value.replace("\\", "")


def test_two_numbers_of_as_many_digits_change_places_with_the_exact_answer(asked):
    assert dialogue.exact_answer(asked) == "-2/7"
    change = changes.exchange_tokens(asked, "roles", 2, 8)  # in 12 and in 45
    assert (change.first, change.second) == ((1, 2), (7, 8))
    row = experiments.try_change(asked, change)
    assert row["predicted"] == "-5"  # 45/(3-12)
    assert row["by"] == "arithmetic"
    assert row["old answer"] == asked.told
    single = changes.exchange_tokens(asked, "roles", 1, 5)  # 12 and 3: single digits
    assert (single.first, single.second) == ((1,), (5,))
    with pytest.raises(InputError, match="choose two"):
        changes.exchange_tokens(asked, "roles", 1, 1)


def test_an_edit_that_changes_nothing_changes_no_answer(asked):
    nothing = changes.Change("nothing", {})
    row = experiments.try_change(asked, nothing)
    assert row["new answer"] == row["old answer"]
    assert row["p now"] == pytest.approx(row["its p"])
    assert "stays" in experiments.summarize_experiment(row)
    every = [(site, head) for site, heads in changes.list_heads(asked).items() for head in heads]
    gone = [experiments.try_change(asked, changes.ablate_head(*each)) for each in every]
    changed = [each for each in gone if each["new answer"] != each["old answer"]]
    assert changed
    told = experiments.summarize_experiment(changed[0])
    assert f"the answer ‘{asked.told}’" in told
    assert f"becomes ‘{changed[0]['new answer']}’" in told
    assert told.endswith("Nothing predicts an exact answer to this edit.")


def test_a_text_without_end_is_refused_before_it_is_read(asked):
    with pytest.raises(InputError, match="of 5001 characters: give at most 4000"):
        dialogue.pose(asked.model, "1+" * 2500 + "1")


def test_probabilities_have_three_digits():
    told = [dialogue.write_share(each) for each in (0.99765, 0.0004567, 0.0)]
    assert told == ["0.998", "4.6e-04", "below 1e-38"]


def test_the_start_symbol_is_no_part_of_a_question(asked):
    row = experiments.try_change(asked, changes.exchange_tokens(asked, "roles", 0, 1))
    assert row["by"] == experiments.MODEL


def test_what_is_predicted_is_said_with_whether_it_came(asked):
    row = experiments.try_change(asked, changes.exchange_tokens(asked, "roles", 2, 8))
    assert "Arithmetic gives ‘-5’ (probability" in experiments.summarize_experiment(row)
    assert experiments.summarize_experiment(row).endswith("not as predicted.")
    came = experiments.summarize_experiment(row | {"new answer": "-5", "as predicted": True})
    assert came.endswith("Arithmetic gives ‘-5’: as predicted.")
    same = row | {
        "predicted": row["old answer"],
        "new answer": row["old answer"],
        "as predicted": True,
    }
    assert (
        "gives the old answer, so that nothing should change"
        in experiments.summarize_experiment(same)
    )


def test_a_word_goes_with_all_its_pieces(make_model):
    english = require_vocabulary(tp.load_model("tpt-d-english"))
    text = "Airbus strikes Hawaii."
    words = next_words.group_words(text, english)
    pieces = [english.spell([each]) for each in english.encode(text)]
    airbus = tuple(i for i, _ in enumerate(pieces) if "".join(pieces[: i + 1]).strip() in "Airbus")
    assert len(airbus) > 1
    assert words[0] == words[airbus[-1]] == airbus
    assert words[airbus[-1] + 1] == (airbus[-1] + 1,)  # strikes
    assert words[-2] == (len(words) - 2,)  # the full stop; the end symbol is no word
    assert next_words.find_words(words, 0, airbus[-1] + 1) == ((0,), (airbus[-1] + 1,))
    characters = require_vocabulary(make_model(fluent=True, seed=4))
    assert next_words.group_words("+120/7", characters)[3] == (2, 3, 4)  # behind the start symbol


def test_pairs_of_numbers_are_offered(asked):
    question = replace(asked, text="3/4 + 5/4")
    assert changes.list_pairs(question) == [("3 ↔ 4: numerator and denominator", 1, 3)]
    assert changes.list_pairs(replace(asked, text="no question")) == []


def test_a_caption_has_words_unbinding_vectors_and_no_heads():
    image = dialogue.pose_image(dialogue.load_asked("tpgn-scenes"), 0)
    assert not image.attend()
    assert " ".join(image.tokens) == image.told
    assert "no heads" in changes.summarize_headless(image)
    assert not changes.list_heads(image)
    assert changes.list_pairs(image) == []


def test_the_maps_of_a_question_are_sent_small(asked):
    (site, *_) = attention.pack_heads(asked.attend(), False)["sites"]
    assert (site["site"], len(site["maps"])) == ("encoder.0.self.attention", 2)
    assert site["maps"][0]["rows"] == site["maps"][0]["columns"] == len(asked.tokens)


def test_a_link_opens_with_its_experiment_and_says_what_changed_first(open_page, asked_runs):
    app = open_page(asked_runs, "ask", text="12/(3-45)", picked="2,8")
    assert not app.exception
    assert read_lead(app).startswith(LEAD)
    assert "Arithmetic gives ‘-5’" in read_lead(app)
    assert app.dataframe[0].value["predicted"].tolist() == ["-5"]
    app.text_area(key="text").set_value("7/8").run()  # what was picked was of another text
    assert not app.exception
    assert "answers: ‘" in read_lead(app)
    assert "the exact answer is 7/8" in read_lead(app)


def test_a_head_in_the_address_is_ablated(open_page, asked_runs):
    app = open_page(asked_runs, "ask", picked="encoder.1.self.role:1")
    assert not app.exception
    assert read_lead(app).startswith("Head 1 of encoder.1.self.role replaced by 0: the answer")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (" ", "an empty text"),
        ("日本", "is not in the vocabulary"),
        ("1+" * 99 + "1", "at most 160 are accepted"),
    ],
)
def test_what_cannot_be_asked_is_one_line(open_page, asked_runs, text, told):
    app = open_page(asked_runs, "ask", text=text)
    assert not app.exception
    (warning,) = app.warning
    assert told in warning.value.replace("\\", "")
    assert len(warning.value.replace("\\", "")) <= 300
    assert "\n" not in warning.value


@pytest.mark.parametrize(
    "picked", ["<b>", "1,", "9999,1", "1,1", "²,3", "encoder.9.self.role:1", "a:9", "1:" * 999]
)
def test_picks_that_say_nothing_are_left(open_page, asked_runs, picked):
    app = open_page(asked_runs, "ask", picked=picked)
    assert not app.exception
    assert re.match("tiny answers: ‘", read_lead(app))


def test_two_words_of_any_model_with_a_head_exchange_their_states(make_model):
    model = make_model(fluent=True, seed=4)
    asked = next_words.read_text(model, "12/(3-45)")
    site = next_words.list_states(model)[0]
    found = next_words.exchange_states(asked, site, 1, 8)  # 12 and 45
    assert found.keys() == next_words.TOLD.keys()
    plain, back = found[next_words.PLAIN], found[next_words.BACK]
    assert torch.allclose(plain, back)  # the states put back change nothing
    assert (plain - found[next_words.EXCHANGED]).abs().max() > 10 * (plain - back).abs().max()
    other = next_words.read_text(model, "45/(3-12)")
    again = next_words.exchange_states(other, site, 1, 8)
    assert torch.allclose(found[next_words.OTHER], again[next_words.PLAIN])
    table = next_words.tabulate_words(asked, found)
    assert table[next_words.PLAIN].max() == pytest.approx(float(plain.max()))
    told = next_words.summarize_exchange(asked, site, 1, 8, table)
    assert "‘12’ and ‘45’ exchange their states" in told.text
    with pytest.raises(InputError, match="choose two"):
        next_words.exchange_states(asked, site, 1, 1)
