"""Generated problems made again from what their header says."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from allocsolve.errors import InvalidOption
from allocsolve.instances.generators.elastic import elastic_workload, lina_workload
from allocsolve.instances.generators.evotree import evotree, evotree_batch, evotree_stream
from allocsolve.instances.generators.examples import (
    counterexamples,
    easy_counterexamples,
    median_worst_case,
    network_counterexamples,
    shape_counterexamples,
)
from allocsolve.instances.generators.klein2011 import amr, amr_stream, klein2011
from allocsolve.instances.generators.linnert2024 import linnert2024
from allocsolve.instances.generators.occupancy import churned_occupancy, uniform_occupancy
from allocsolve.instances.generators.rigid import downey1997, lublin1999
from allocsolve.model import SwitchTree, Topology

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from allocsolve.model import BoolArray, IntArray, Problem


def regenerate(
    meta: Mapping[str, Any], make_allocator: Callable[[str], Callable[[Any, BoolArray, int], IntArray | None]]
) -> Problem:
    """Return the problem that a generator makes of the parameters in the ``meta`` of a problem.

    Raises `InvalidOption` if there is no generator of this name, or it has changed since (``version``); also
    of the workload that a workload was made of.

    Parameters
    ----------
    meta
        Of a generated problem, as it is in the file.
    make_allocator
        Returns the allocator of a name, such as `allocsolve.registry.make_allocator`, for churned problems.

    Examples
    --------
    >>> from allocsolve.registry import make_allocator
    >>> problem = klein2011(7, num_apps=(3, 4))
    >>> regenerate(problem.meta, make_allocator) == problem
    True
    """
    options = dict(meta)
    name, version = options.pop("generator", None), options.pop("version", None)
    if name not in _GENERATORS:
        raise InvalidOption(f"generator {name!r} is not one of {', '.join(_GENERATORS)}")
    if "expand_limit" in options and options["expand_limit"] is None:
        options["expand_limit"] = math.inf
    if "shape" in options:
        axes = (tuple(options.pop(name, ())) for name in ("shape", "wrap", "complete"))
        options["topology"] = Topology(*axes)
    if "sizes" in options:
        form = (tuple(options.pop(name)) for name in ("sizes", "hops", "capacities"))
        options["topology"] = SwitchTree.regular(*form)
    if name == "churned":
        options["allocator_name"] = options["allocator"]
        options["allocator"] = make_allocator(options["allocator"])
        del options["jobs"]  # an outcome
    if "workload" in options:
        workload = dict(options.pop("workload"))
        named = workload.pop("name", "")
        options["problem"] = replace(regenerate(workload, make_allocator), name=named)
        del options["recipe"]  # it goes with the generator
    problem = _GENERATORS[name](**options)
    if problem.meta["version"] != version:
        msg = f"generator {name} is of version {problem.meta['version']}, the problem of version {version}"
        raise InvalidOption(msg)
    return problem


def _read(cases: Callable[[], Iterable[Problem]], *, case: str, **_: object) -> Problem:
    """Return the problem of a case: those of counterexamples are not drawn, the library has them."""
    return next(problem for problem in cases() if problem.name == case)


_GENERATORS: dict[str, Callable[..., Problem]] = {
    "klein2011": klein2011,
    "amr": amr,
    "amr-stream": amr_stream,
    "evotree": evotree,
    "evotree-batch": evotree_batch,
    "evotree-stream": evotree_stream,
    "uniform": uniform_occupancy,
    "churned": churned_occupancy,
    "median-worst-case": median_worst_case,
    "counterexamples": partial(_read, counterexamples),
    "lublin1999": lublin1999,
    "downey1997": downey1997,
    "elastic": elastic_workload,
    "lina": lina_workload,
    "linnert2024": linnert2024,
    "easy-counterexamples": partial(_read, easy_counterexamples),
    "shape-counterexamples": partial(_read, shape_counterexamples),
    "network-counterexamples": partial(_read, network_counterexamples),
}
