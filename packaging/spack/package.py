"""The recipe of Spack: a repository of packages has it as `py_allocsolve/package.py`."""

from spack.package import *


class PyAllocsolve(PythonPackage):
    """Proven optima, heuristics and a judge for the allocation problem of supercomputers."""

    pypi = "allocsolve/allocsolve-0.2.0.tar.gz"
    license("Apache-2.0")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling", type="build")
    depends_on("py-numpy@2.0:", type=("build", "run"))
    depends_on("py-scipy@1.13:", type=("build", "run"))
    depends_on("py-numba@0.61:", type=("build", "run"))
    depends_on("or-tools@9.12:+python", type=("build", "run"))
    depends_on("py-pulp@3", type=("build", "run"))
    depends_on("py-rich@13.7:", type=("build", "run"))
    depends_on("py-psutil@6.0:", type=("build", "run"))
    depends_on("py-pyyaml@6:", type=("build", "run"))
    depends_on("py-lazy-loader@0.6:", type=("build", "run"))
