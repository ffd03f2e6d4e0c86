"""Which processors' code this machine can run: tests compile for all, and run what can be run."""

import pathlib

FLAGS = set(pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n")[0].split())
NEEDS = {  # processors by what a machine that runs their code must have
    "x86-64": "sse2",
    "haswell": "avx2",
    "alderlake": "avx_vnni",
    "skylake-avx512": "avx512bw",
    "cascadelake": "avx512_vnni",
    "sapphirerapids": "amx_int8",
}
CPUS = [cpu for cpu, flag in NEEDS.items() if flag in FLAGS]


def runnable(names):
    """Of processors, or targets that end in the name of one, those whose code runs here."""
    cpus = {name: name.split("-mcpu=")[-1] for name in names}
    return [name for name, cpu in cpus.items() if cpu not in NEEDS or cpu in CPUS]
