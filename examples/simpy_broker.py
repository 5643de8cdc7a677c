"""A broker in SimPy on `allocsolve.heuristics.ReservationCalendar`: jobs with deadlines book nodes.

Customers come at random, and ask for nodes until a deadline. The broker books the earliest place, or refuses.
Some customers cancel what they have booked, some jobs end early; both give nodes back from then on.

    python simpy_broker.py
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import simpy

from allocsolve.heuristics import ReservationCalendar
from allocsolve.model import Torus

if TYPE_CHECKING:
    from collections.abc import Generator

MACHINE = Torus((8, 8))


class Broker:
    """The calendar of the machine, and what became of the customers."""

    def __init__(self, env: simpy.Environment, *, give_back: bool) -> None:
        self.env, self.give_back = env, give_back
        self.calendar = ReservationCalendar(MACHINE, "hilbert")
        self.count: Counter[str] = Counter()

    def customer(self, rng: np.random.Generator) -> Generator[simpy.Event, None, None]:
        """Ask, wait for the start, run; or leave before."""
        nodes, asked = int(rng.integers(1, 33)), int(rng.integers(60, 3600))
        patience, used, leaves = int(rng.integers(1, 4)), rng.uniform(0.3, 1), rng.random() < 0.2
        now = int(self.env.now)
        self.calendar.advance(now)
        slot = self.calendar.ask(nodes=nodes, runtime=asked, deadline=now + patience * asked)
        if slot is None:
            self.count["refused"] += 1
            return
        booking = self.calendar.book(*slot)
        if leaves and slot.start > now:
            yield self.env.timeout((slot.start - now) // 2)
            self.count["cancelled"] += 1
        else:
            yield self.env.timeout(slot.start - now + int(used * asked))
            self.count["done"] += 1
        if self.give_back:
            self.calendar.advance(int(self.env.now))
            self.calendar.cancel(booking)

    def customers(self, number: int, seed: int) -> Generator[simpy.Event, None, None]:
        """Let customers come, one every three minutes in the mean."""
        rng = np.random.default_rng(seed)
        for one in range(number):
            yield self.env.timeout(int(rng.exponential(180)))
            self.env.process(self.customer(np.random.default_rng([seed, one])))


def main() -> None:
    """Serve the same customers with and without giving nodes back."""
    for give_back in (False, True):
        env = simpy.Environment()
        broker = Broker(env, give_back=give_back)
        env.process(broker.customers(1000, seed=1))
        env.run()
        told = ", ".join(f"{broker.count[what]} {what}" for what in ("done", "cancelled", "refused"))
        print(f"{'given back' if give_back else 'kept':10}  {told}")


if __name__ == "__main__":
    main()
