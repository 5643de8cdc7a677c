"""What each page of help shows at its end, up to three command lines. A test runs them all, in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Command lines without the name of the program. A line is for the page of the command that it begins with.
EXAMPLES: Final = """
generate klein2011 --out problems
generate klein2011 --num-jobs 3 --steps 1-4 --count 2 --seed 1 --out problems
generate klein2011 --nodes 64 --job-nodes 1-48 --out wide
generate lublin1999 --num-jobs 100 --nodes 64 --out workloads
generate lublin1999 --num-jobs 100 --nodes 64 --kind batch --out batch
generate lublin1999 --num-jobs 50 --nodes 64 --count 2 --seed 1 --out workloads
generate downey1997 --num-jobs 50 --load 0.9 --out downey
generate downey1997 --num-jobs 50 --job-nodes 1-16 --duration 60-3600 --seed 1 --out downey
generate downey1997 --num-jobs 50 --count 2 --seed 2 --out downey
generate amr --num-jobs 5 --out amr
generate amr --num-jobs 5 --nodes 128 --job-nodes 10-90 --seed 1 --out amr
generate amr --num-jobs 5 --expand-limit 2 --seed 2 --out amr
generate linnert2024 --num-jobs 20 --out meshes
generate linnert2024 --num-jobs 20 --gap 750 --seed 1 --out meshes
generate linnert2024 --num-jobs 20 --leaking --seed 2 --out meshes
generate evotree --seed 42 --out batches
generate evotree --share 0.4 --kind moldable --seed 42 --out shares
generate evotree --num-jobs 50 --nodes 20 --load 0.9 --out streams
generate elastic workloads/lublin1999-s0-0000.json --share 0.5 --out half.json
generate elastic cluster.swf --share 1 --tick 60 --out cluster-elastic.json
generate elastic cluster.swf --share 0.2 --seed 3 --out fifth.json
generate lina cluster.swf --share 0.5 --out lina.json
generate lina cluster.swf --share 1 --arrivals 0.65 --out crowded.json
generate lina cluster.swf --share 1 --holds larger --seed 3 --out lina-old.json
generate occupancy --machine 16x8 --busy 0.4 --size 8 --out free
generate occupancy --machine 8x8 --wrap all --busy 0.5 --size 6 --seed 1 --out free
generate occupancy --machine summit --busy 0.6 --size 36 --seed 2 --out free
generate churn --machine 16x8 --busy 0.6 --size 8 --allocator mc1x1 --out churned
generate churn --machine 8x8 --busy 0.6 --size 8 --allocator random --num-jobs 50 --out churned-8x8
generate churn --machine 8x8 --busy 0.5 --size 4 --allocator random --job-nodes 1-4 --out small
generate median-worst-case --distance 20 --out worst
generate median-worst-case --size 16 --distance 30 --out worst
generate median-worst-case --distance 20,4 --out worst-4
import jobs.txt --nodes 64 --out jobs.json --recorded recorded.json
import cluster.swf --num-jobs 50 --limits cut --out part.json
import topology.conf --free free.txt --size 3 --out network.json
solve problems/klein2011-s1-0000.json --solver infX+c --out solution.json
solve workloads/lublin1999-s0-0000.json --solver prices --seconds 1 --certificate bound.json.gz
solve workloads/lublin1999-s0-0000.json --solver 'easy(reservations=2)' --out schedule.json
check problems/klein2011-s1-0000.json solution.json
check workloads/lublin1999-s0-0000.json bound.json.gz
check workloads/lublin1999-s0-0000.json schedule.json --claims capacity,release
convert workloads/lublin1999-s0-0000.json workload.swf --solution schedule.json
convert workloads/lublin1999-s0-0000.json trace.json --format perfetto --solution schedule.json
convert cluster.swf cluster.json
whatif jobs.txt --nodes 64 --seconds 1
whatif jobs.txt --nodes 64,72 --by user --policy easy --seconds 1 --out jobs.html
whatif cluster.swf --policy 'easy,easy(order=shortest-estimate)' --seconds 1 --out cluster.prom
when queue.txt --log jobs.txt --nodes 64
when queue.txt --nodes 64 --closed 2026-11-08T08:00+8h
when queue.txt --nodes 64 --job nodes=16,limit=4:00:00
place topology.conf --free free.txt --size 3
place topology.conf --free free.txt --size 4 --segment 2 --rules slurm-tree
place topology.conf --free free.txt --size 3 --plot nodes.svg
score problems --solvers noX,infX+c --seconds 1
score tiny --solvers manhattan-median --seconds 1 --out scores
score jobs.json --solvers easy,conservative --solution recorded.json --baseline easy
study run study.toml
study run study.toml -j 2 --out other.sqlite
study run study.toml --rerun failed
study export study.sqlite --out study.csv
study export study.sqlite --solvers noX --out noX.json
study export study.sqlite --suite files --exclude noX --out others.csv
study report study.sqlite --out report.html
study report study.sqlite --solvers noX,2X --out tables.md
study report study.sqlite --out all.html --figures figures
study verify study.sqlite
study merge both.sqlite study.sqlite other.sqlite
study compare other.sqlite study.sqlite
study compare other.sqlite study.sqlite --solvers noX
gate --baseline gate.json --suite problems --solvers noX,2X --update
gate --baseline gate.json
gate --baseline gate.json --solvers noX
evaluate easy --log workloads --count 1 --num-jobs 20
evaluate mine.py --log workloads --count 1 --num-jobs 20
evaluate mine.py:policy easy --log workloads --count 2 --num-jobs 10 --split test
library list
library verify tiny
library build --library suites
library improve nvl72 --seconds 1 --library suites
schema
schema workload
schema study --json
solvers
solvers workload
solvers curve-fit
warm
warm easy,conservative
warm --clear
""".strip().splitlines()
#: Those of the page of all commands.
_FIRST: Final = ("whatif ", "generate klein2011 ", "score ")
#: How many lines a page has.
_SHOWN: Final = 3


def examples_of(words: Sequence[str]) -> list[str]:
    """Return the lines of a command; of one with commands below it, the first lines of the first of these."""
    name = " ".join(words)
    if not name:
        found = [next(line for line in EXAMPLES if line.startswith(first)) for first in _FIRST]
    else:
        found = [line for line in EXAMPLES if f"{line} ".startswith(f"{name} ")]
    if name in ("generate", "study", "library"):  # one line of each command below
        found = list({line.split()[1]: line for line in reversed(found)}.values())[::-1]
    return [f"allocsolve {line}" for line in found[:_SHOWN]]
