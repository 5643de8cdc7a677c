"""Windows in which a part of a machine is closed, as users write them."""

from __future__ import annotations

import random

import pytest
from fuzz_changes import WORDS, spoilt_words
from hypothesis import given, strategies as st
from offenders import all_offenders

from allocsolve.errors import AllocsolveError, InvalidOption
from allocsolve.instances import TimeOrigin, closed_window
from allocsolve.model import ClosedWindow

#: 2022-11-08 00:00 UTC.
DAY = 1_667_865_600
CET = TimeOrigin(epoch=0.0, zero=DAY, timezone="Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "origin", "window"),
    [
        ("100+1h", None, ClosedWindow(100, 3700)),
        ("100/3700", None, ClosedWindow(100, 3700)),
        ("/3700", None, ClosedWindow(0, 3700)),
        (" 0+1d12h30m15s , nodes = 5 , gpus=16", None, ClosedWindow(0, 131_415, {"nodes": 5, "gpus": 16})),
        ("0+1.5h", None, ClosedWindow(0, 5400)),
        ("0+1w", None, ClosedWindow(0, 604_800)),
        ("0+90min", None, ClosedWindow(0, 5400)),
        ("2022-11-08T08:00+8h", TimeOrigin(0.0, DAY), ClosedWindow(28_800, 57_600)),
        ("2022-11-08T08:00:30+8h", CET, ClosedWindow(25_230, 54_030)),
        ("2022-11-08 08:00/2022-11-08 10:00", CET, ClosedWindow(25_200, 32_400)),
        ("2022-11-08T08:00+01:00+8h", TimeOrigin(0.0, DAY), ClosedWindow(25_200, 54_000)),
        ("2022-11-08T08:00Z/2022-11-08T09:00Z", CET, ClosedWindow(28_800, 32_400)),
        ("2022-11-08/2022-11-09", TimeOrigin(0.0, DAY), ClosedWindow(0, 86_400)),
        ("2022-11-07T23:00+2h", TimeOrigin(0.0, DAY), ClosedWindow(0, 3600)),
        (f"{DAY + 60}+60s", TimeOrigin(0.0, DAY), ClosedWindow(60, 120)),
        ("90+60s", TimeOrigin(None, 30.0), ClosedWindow(60, 120)),
        # a log whose second 0 is 08:00
        ("2022-11-08T09:00+1h", TimeOrigin(DAY + 28_800, 600), ClosedWindow(3000, 6600)),
        # clocks were set back at 03:00
        (
            "2022-10-30T02:30/2022-10-30T02:15",
            TimeOrigin(0.0, DAY - 864_000, "Europe/Berlin"),
            ClosedWindow(88_200, 90_900),
        ),
    ],
)
def test_a_window_is_read(text: str, origin: TimeOrigin | None, window: ClosedWindow) -> None:
    assert closed_window(text, origin) == window


@given(
    start=st.integers(0, 10**9),
    parts=st.lists(st.tuples(st.integers(1, 500), st.sampled_from("smhdw")), min_size=1, max_size=4),
    amounts=st.dictionaries(st.sampled_from(["nodes", "gpus", "long"]), st.integers(1, 99)),
    zero=st.integers(0, 10**9),
)
def test_start_and_duration_are_start_and_end(
    start: int, parts: list[tuple[int, str]], amounts: dict[str, int], zero: int
) -> None:
    seconds = sum(
        number * {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}[unit] for number, unit in parts
    )
    behind = "".join(f",{name}={amount}" for name, amount in amounts.items())
    origin = TimeOrigin(zero=zero)
    window = closed_window(
        f"{start + zero}+{''.join(f'{number}{unit}' for number, unit in parts)}{behind}", origin
    )
    assert window == ClosedWindow(start, start + seconds, amounts)
    assert window == closed_window(f"{start + zero}/{start + zero + seconds}{behind}", origin)


FAULTS = {
    "": "is no window such as",
    "+8h": "is no window such as",
    "8h": "is no window such as",
    "100+": "is no duration such as 8h",
    "100+8": "is no duration such as 8h",
    "100+8y": "units are s, m, min, h, d, w",
    "100+0h": "is not above 0",
    "100+-8h": "is no duration",
    "100+" + 20 * "999999999w": "not above 0 and at most 2^53 s",
    "100/50": "ends before it begins",
    "100/": "'' is no time",
    "/": "'' is no time",
    "x/50": "'x' is no time that is read",
    "unknown+8h": "'unknown' is no time",
    "2022-11-08T08:00+8h": "nothing tells on which date the log begins",
    "100+8h,50": "'50' is no amount such as nodes=50",
    "100+8h,nodes": "is no amount",
    "100+8h,nodes=": "is no amount",
    "100+8h,=5": "is no amount",
    "100+8h,nodes=0": "nodes 0 is not in 1..2^53",
    "100+8h,nodes=-5": "is no amount",
    "100+8h,nodes=5,nodes=6": "nodes stands there twice",
    "100+8h,nodes=٣": "is no amount",
    "1_0+8h": "is no time that is read",
    "100+8h,": "is no amount",
}


def test_faults_are_told() -> None:
    with all_offenders() as check:
        for text, said in FAULTS.items():
            with check(text):
                with pytest.raises(InvalidOption) as caught:
                    closed_window(text)
                assert said in str(caught.value)
                assert "\n" not in str(caught.value)


def test_a_window_before_the_log_is_none() -> None:
    with pytest.raises(InvalidOption, match="ends before the first submission, 2022-11-08T00:00:00"):
        closed_window("2022-11-07T08:00+8h", TimeOrigin(0.0, DAY))
    with pytest.raises(InvalidOption, match="ends before the first submission, second 1667865600 of the log"):
        closed_window("5+8h", TimeOrigin(None, DAY))
    with pytest.raises(InvalidOption, match="there is no time zone"):
        closed_window("5+8h", TimeOrigin(0.0, DAY, "Europe/Nowhere"))


def test_no_text_breaks_it() -> None:
    rng = random.Random(7)
    good = ("2022-11-08T08:00+8h,nodes=5", "100/900", "/5", "5+1d12h,gpus=3,nodes=2")
    changed = [spoilt_words(rng, ["closed", rng.choice(good)]) for _ in range(300)]
    for text in [*WORDS, *(word for words in changed for word in words[1:])]:
        for origin in (None, CET):
            assert "\n" not in _fault(text, origin), text


def _fault(text: str, origin: TimeOrigin | None) -> str:
    try:
        closed_window(text, origin)
    except AllocsolveError as fault:
        return str(fault)
    return ""
