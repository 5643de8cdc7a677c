"""All families of problems and of their answers: what the judge, the files and the bench are told of."""

from __future__ import annotations

from typing import TypeAlias

from allocsolve.model.evolution import EvolutionProblem, EvolutionSchedule
from allocsolve.model.partition import Partition, PartitionProblem

__all__ = ["Answer", "Problem"]

#: A problem of any family.
Problem: TypeAlias = EvolutionProblem | PartitionProblem
#: An answer to a problem of any family.
Answer: TypeAlias = EvolutionSchedule | Partition
