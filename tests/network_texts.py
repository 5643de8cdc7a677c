"""Small files of networks and of free nodes, and what is to be read from them."""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from allocsolve.instances import NetworkFile


class Sample(NamedTuple):
    """A file of a network."""

    text: str
    switches: str  #: root first, as ``name < parent``
    nodes: str  #: as ``node: switch``
    sizes: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    free: str | None = None
    topology: str = ""  #: which one is asked for


def _node(name: str, labels: str, *, ready: str = "True", spec: str = "{}") -> str:
    condition = f'{{"type": "Ready", "status": "{ready}"}}'
    metadata = f'{{"name": "{name}", "labels": {{{labels}}}}}'
    return f'{{"metadata": {metadata}, "spec": {spec}, "status": {{"conditions": [{condition}]}}}}'


_LEVELS: Final = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: t}
spec:
  levels:
  - nodeLabel: x/block
  - nodeLabel: x/rack
  - nodeLabel: kubernetes.io/hostname
---
"""
_RACK: Final = '"x/block": "a", "x/rack": "1"'
_NODES: Final = "\n".join(
    (
        _node("h1", _RACK),
        _node("h2", _RACK, ready="False"),
        _node("h3", '"x/block": "b", "x/rack": "1"'),
        _node("h4", '"x/rack": "1"'),
    )
)
_TAINT: Final = '{"taints": [{"key": "k", "effect": "%s"}]}'


def _member(selector: str, kind: str = "Node") -> str:
    return f"  - {{type: {kind}, selector: {{{selector}}}}}\n"


def _hypernode(name: str, *members: str) -> str:
    head = f"apiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata: {{name: {name}}}\n"
    return f"{head}spec:\n  tier: 1\n  members:\n{''.join(members)}"


SAMPLES: Final[dict[str, Sample]] = {
    "conf-tree-1": Sample(
        dedent("""\
            # leaf switches last
            switchname=root Switches=leaf[1-2]
            SwitchName=leaf1 Nodes=n[1-3] LinkSpeed=100   # ignored
            SwitchName=leaf2 Nodes=n[4-5]
        """),
        "root, leaf1 < root, leaf2 < root",
        "n1: leaf1, n2: leaf1, n3: leaf1, n4: leaf2, n5: leaf2",
    ),
    "conf-tree-2": Sample(
        dedent("""\
            SwitchName=l0 Nodes="gpu[01-02], gpu04"
            SwitchName=l1 Nodes=gpu03
            SwitchName=l2
            SwitchName=pod0 Switches=l0,l1
            SwitchName=pod1 \\
                Switches=l2
            SwitchName=top Switches=pod[0-1]
        """),
        "top, pod0 < top, l0 < pod0, l1 < pod0, pod1 < top, l2 < pod1",
        "gpu01: l0, gpu02: l0, gpu04: l0, gpu03: l1",
        notes=("switches without nodes: l2",),
    ),
    "conf-tree-3": Sample(
        "SwitchName=a Nodes=x[1-2]\nSwitchName=b Nodes=x[3-4]\n",
        "a, b",
        "x1: a, x2: a, x3: b, x4: b",
        notes=("several roots, no job may span them: a, b",),
    ),
    "conf-blocks-1": Sample(
        "BlockName=b1 Nodes=c[01-04]\nBlockName=b2 Nodes=c[05-08]\nBlockSizes=4,8\n",
        "(cluster), b1 < (cluster), b2 < (cluster)",
        "c01: b1, c02: b1, c03: b1, c04: b1, c05: b2, c06: b2, c07: b2, c08: b2",
        (4, 8),
    ),
    "conf-blocks-2": Sample(
        "BlockName=b1 Nodes=c[01-03]\n",
        "(cluster), b1 < (cluster)",
        "c01: b1, c02: b1, c03: b1",
        (3, 6, 12, 24, 48),
    ),
    "conf-blocks-3": Sample(
        dedent("""\
            BlockName=r1 Nodes=c[1-18]
            BlockName=r2 Nodes=c[19-36]
            BlockSizes=16   # two spare nodes a rack
        """),
        "(cluster), r1 < (cluster), r2 < (cluster)",
        ", ".join(f"c{number}: r{1 + number // 19}" for number in range(1, 37)),
        (16,),
    ),
    "scontrol-tree": Sample(
        dedent("""\
            SwitchName=s0 Level=1 LinkSpeed=1 Nodes=n[1-8] Switches=s[1-2]
            SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-4]
            SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n[5-8]
        """),
        "s0, s1 < s0, s2 < s0",
        "n1: s1, n2: s1, n3: s1, n4: s1, n5: s2, n6: s2, n7: s2, n8: s2",
    ),
    "scontrol-blocks": Sample(
        dedent("""\
            BlockName=b0 BlockIndex=0 Nodes=10.0.0.[1-2] BlockSize=2
            BlockName=b1 BlockIndex=1 BlockSize=2
            BlockName=b2 BlockIndex=2 Nodes=g[3-4] BlockSize=2
            AggregatedBlock=b[0-1] BlockIndex=3 Nodes=10.0.0.[1-2] BlockSize=4
            AggregatedBlock=b2 BlockIndex=4 Nodes=g[3-4] BlockSize=4
        """),
        "(cluster), b0 < (cluster), b1 < (cluster), b2 < (cluster)",
        "10.0.0.1: b0, 10.0.0.2: b0, g3: b2, g4: b2",
        (2, 4),
        notes=("switches without nodes: b1",),
    ),
    "scontrol-blocks-23.11": Sample(
        "BlockName=b0 BlockIndex=0 Nodes=g[1-2]\nBlockName=b1 BlockIndex=1 Nodes=g[3-4]\n",
        "(cluster), b0 < (cluster), b1 < (cluster)",
        "g1: b0, g2: b0, g3: b1, g4: b1",
        (2, 4, 8, 16, 32),
    ),
    "yaml-phantom": Sample(
        dedent("""\
            - topology: nvl
              block:
                block_sizes: [2, 4]
                blocks:
                - {block: a, nodes: "n[1-2]"}
                - block: phantom
                - {block: b, nodes: "n[3-4]"}
        """),
        "(cluster), a < (cluster), phantom < (cluster), b < (cluster)",
        "n1: a, n2: a, n3: b, n4: b",
        (2, 4),
        notes=("switches without nodes: phantom",),
    ),
    "yaml-1": Sample(
        dedent("""\
            - topology: fabric
              cluster_default: true
              tree:
                switches:
                  - switch: top
                    children: l[1-2]
                  - switch: l1
                    nodes: n[1-2]
                  - switch: l2
                    nodes: n3
        """),
        "top, l1 < top, l2 < top",
        "n1: l1, n2: l1, n3: l2",
    ),
    "yaml-2": Sample(
        dedent("""\
            - topology: flat
              cluster_default: true
              flat: true
            - topology: nvl
              block:
                block_sizes: [2, 4]
                blocks:
                  - block: r1
                    nodes: g[1-2]
                  - block: r2
                    nodes: g[3-4]
        """),
        "(cluster), r1 < (cluster), r2 < (cluster)",
        "g1: r1, g2: r1, g3: r2, g4: r2",
        (2, 4),
        topology="nvl",
    ),
    "yaml-3": Sample(
        dedent("""\
            - topology: only
              tree:
                switches:
                  - {switch: s, nodes: "m[9-10]"}
        """),
        "s",
        "m9: s, m10: s",
    ),
    "kueue-1": Sample(
        _LEVELS + _NODES,
        "(cluster), a < (cluster), a/1 < a, b < (cluster), b/1 < b",
        "h1: a/1, h2: a/1, h3: b/1",
        notes=("nodes that lack a label of the levels, left out: h4",),
        free="h1, h3",
    ),
    "kueue-2": Sample(
        _LEVELS
        + "\n".join(
            (
                _node("h1", _RACK, spec=_TAINT % "NoSchedule"),
                _node("h2", _RACK, spec='{"unschedulable": true}'),
                _node("h3", '"x/block": "a", "x/rack": "2"', spec=_TAINT % "PreferNoSchedule"),
            )
        ),
        "(cluster), a < (cluster), a/1 < a, a/2 < a",
        "h1: a/1, h2: a/1, h3: a/2",
        free="h3",
    ),
    "kueue-3": Sample(
        dedent("""\
            kind: Topology
            metadata: {name: u}
            spec: {levels: [{nodeLabel: x/rack}]}
            ---
            kind: ResourceFlavor
            metadata: {name: f}
            spec: {topologyName: u}
            ---
        """)
        + _NODES,
        "(cluster), 1 < (cluster)",
        "h1: 1, h2: 1, h3: 1, h4: 1",
        free="h1, h3, h4",
    ),
    "volcano-1": Sample(
        "---\n".join(
            (
                _hypernode("s0", *(_member(f'exactMatch: {{name: "{name}"}}') for name in ("h1", "h2"))),
                _hypernode("s1", _member('regexMatch: {pattern: "3$"}')),
                _hypernode("s2", _member("exactMatch: {name: s0}", "HyperNode")),
                _hypernode(
                    "s3", *(_member(f"exactMatch: {{name: {name}}}", "HyperNode") for name in ("s2", "s1"))
                ),
            )
        )
        + "---\n"
        + _NODES,
        "s3, s1 < s3, s2 < s3, s0 < s2",
        "h1: s0, h2: s0, h3: s1",
        notes=("nodes of no HyperNode, left out: h4",),
        free="h1, h3",
    ),
    "volcano-2": Sample(
        "---\n".join(
            (
                _hypernode("s0", _member('labelMatch: {matchLabels: {"x/block": a}}')),
                _hypernode(
                    "s1",
                    _member(
                        'labelMatch: {matchExpressions: [{key: "x/block", operator: NotIn, values: [a]}, '
                        '{key: "x/rack", operator: Exists}]}'
                    ),
                ),
                _hypernode("s2", _member("labelMatch: {}")),
            )
        )
        + "---\n"
        + _NODES,
        "s0, s1, s2",
        "h1: s0, h2: s0, h3: s1, h4: s1",
        notes=("several roots, no job may span them: s0, s1, s2", "switches without nodes: s2"),
        free="h1, h3, h4",
    ),
    "volcano-3": Sample(
        _hypernode("s", _member("exactMatch: {name: n2}"), _member("exactMatch: {name: n1}")),
        "s",
        "n2: s, n1: s",
    ),
    "model-1": Sample(
        dedent("""\
            switches:
              core: {switches: [spine]}
              spine: {switches: [leaf-1, leaf-2]}
            blocks:
            - switch: leaf-1
              nodes: ["n[1-2]"]
            - switch: leaf-1
              nodes: [n3]
        """),
        "core, spine < core, leaf-1 < spine, leaf-2 < spine",
        "n1: leaf-1, n2: leaf-1, n3: leaf-1",
        notes=("switches without nodes: leaf-2",),
    ),
    "model-2": Sample(
        'blocks:\n- nodes: ["g[01-02]"]\n- nodes: [g03]\n',
        "(cluster), block-0 < (cluster), block-1 < (cluster)",
        "g01: block-0, g02: block-0, g03: block-1",
    ),
    "model-3": Sample(
        "switches: {s: {}}\nblocks:\n- {switch: s, nodes: [a, b, c]}\n", "s", "a: s, b: s, c: s"
    ),
}

#: Files of free nodes, and those that are.
FREE: Final[dict[str, tuple[str, str]]] = {
    "sinfo-1": ("n1 idle\nn2 allocated\nn3 idle*\nn4 idle~\nn5 drained\nn6 mixed\n", "n1"),
    "sinfo-2": ("n[1-3] idle\nn2 reserved\n", "n1, n3"),
    "sinfo-3": (
        (
            '{"sinfo": [{"node": {"state": ["IDLE"]}, "nodes": {"nodes": ["n[1-2]"]}}, '
            '{"node": {"state": ["IDLE", "DRAIN"]}, "nodes": {"nodes": ["n3"]}}]}'
        ),
        "n1, n2",
    ),
    "with the title": ("NODELIST STATE\nn1 idle\nn2 down\n", "n1"),
    "one state": ("n1 IDLE\n", "n1"),
    "hostlist": ("n[1-3],n7\nn9\n", "n1, n2, n3, n7, n9"),
    "one name": ("n1", "n1"),
    "nothing": ("", ""),
    "nodes of kubectl": ('{"kind": "List", "items": [' + ",".join(_NODES.splitlines()) + "]}", "h1, h3, h4"),
    "nodes of jq": (_NODES, "h1, h3, h4"),
    "nodes as YAML": (
        dedent("""\
            apiVersion: v1
            kind: NodeList
            items:
            - metadata: {name: "01"}
              status:
                conditions: [{type: Ready, status: "True"}]
            - metadata: {name: "02"}
              spec: {unschedulable: true}
              status:
                conditions: [{type: Ready, status: "True"}]
        """),
        "01",
    ),
}

#: Files of Kueue that are broken, as the others below.
_KUEUE: Final = [
    (_LEVELS.replace("x/rack", "x/block") + _NODES, "'x/block' stands twice"),
    (_LEVELS.replace("x/block", "kubernetes.io/hostname") + _NODES, "may only be the last one"),
    ("kind: ResourceFlavor", "0 Topology objects"),
    (_LEVELS, "has no nodes: name the output of kubectl get nodes -o json"),
    (_NODES, "0 Topology objects"),
    (_LEVELS + _LEVELS.replace("name: t", "name: u") + _NODES, "has 2 Topology objects; there are t, u"),
    (_LEVELS + _node("h1", ""), "no node has all labels of the levels of the Topology 't': x/block, x/rack"),
    (f"{_LEVELS}{_NODES}\n{_node('h1', '')}", "line 14: the node 'h1' stands twice"),
    (_LEVELS + _node("h 1", ""), "line 10: 'h 1' is not the name of a node"),
    (_LEVELS.replace("levels:", "level:") + _NODES, "line 1: spec.levels is empty"),
    (_LEVELS.replace("nodeLabel: x/rack", "label: x/rack") + _NODES, "spec.levels[1] has no nodeLabel"),
    (_LEVELS + '{"metadata": 5}', "line 10: metadata must be an object, not '5'"),
    (_LEVELS + '{"metadata": {"name": "h", "labels": [1]}}', "metadata.labels must be an object, not a list"),
    (_LEVELS + _node("h1", _RACK, spec='{"taints": {"a": 1}}'), "spec.taints must be a list of objects"),
    (_LEVELS + '{"items": [{"metadata": {}}, 5]}', "line 10: must be objects of Kubernetes, not a list of 2"),
    (_LEVELS + '{"metadata": {"name": "h1"}', "line 10, column 28: "),
    (_LEVELS + _node("h1", '"x/block": "\\u0007", "x/rack": "1"'), "cannot be printed"),
]


#: HyperNodes that are broken.
_VOLCANO: Final = [
    (
        _hypernode("s", _member("regexMatch: {pattern: n}")),
        "chooses nodes by regexMatch, and nothing tells which",
    ),
    (
        _hypernode("s", _member("labelMatch: {matchLabels: {a: b}}")),
        "chooses nodes by labelMatch, and nothing",
    ),
    (_hypernode("s", _member('regexMatch: {pattern: "("}')) + "---\n" + _NODES, "the pattern '(' is none: "),
    (_hypernode("s", _member("regexMatch: {}")) + "---\n" + _NODES, "the pattern '' is none: "),
    (_hypernode("s", _member("exactMatch: {}")), "line 1: spec.members[0]: exactMatch: '' is not a name"),
    (_hypernode("s", _member("exactMatch: {name: 'a b'}")), "exactMatch: 'a b' is not a name"),
    (_hypernode("s", _member("exactMatch: n1")), "selector.exactMatch must be an object, not 'n1'"),
    (_hypernode("s", _member("")), "has none of exactMatch, regexMatch, labelMatch, not one"),
    (
        _hypernode("s", _member("exactMatch: {name: a}, regexMatch: {pattern: b}")),
        "spec.members[0]: has exactMatch and regexMatch of exactMatch, regexMatch, labelMatch, not one",
    ),
    (_hypernode("s", _member("exactMatch: {name: a}", "Rack")), "type must be Node or HyperNode, not 'Rack'"),
    (_hypernode("s", "  - 5\n"), "line 1: spec.members must be a list of objects, not a list of 1"),
    (_hypernode("s"), "has no nodes"),
    (
        _hypernode("s", _member("exactMatch: {name: t}", "HyperNode")),
        "the child 't', which is defined nowhere",
    ),
    (_hypernode("s", _member("exactMatch: {name: s}", "HyperNode")), "switch 's' is below itself"),
    (
        _hypernode("s", _member("exactMatch: {name: t}", "HyperNode"), _member("exactMatch: {name: n}"))
        + "---\n"
        + _hypernode("t", _member("exactMatch: {name: m}")),
        "line 1: switch 's' has nodes and child switches",
    ),
    (
        _hypernode("s", _member("exactMatch: {name: n}"))
        + "---\n"
        + _hypernode("t", _member("exactMatch: {name: n}")),
        "line 9: node 'n' hangs at 's' and at 't'",
    ),
    (_hypernode("''", _member("exactMatch: {name: n}")), "'' is no name of a switch"),
    (
        _hypernode("s", _member("labelMatch: {matchExpressions: [{key: a, operator: Gt}]}"))
        + "---\n"
        + _NODES,
        "the operator must be one of In, NotIn, Exists, DoesNotExist, not 'Gt'",
    ),
    (
        _hypernode("s", _member("labelMatch: {matchExpressions: [{operator: In}]}")) + "---\n" + _NODES,
        "matchExpressions must have a key, an operator and a list of values",
    ),
]


def _broken(text: str) -> list[tuple[str, str]]:
    """Return pairs of a file and what is said of it, each on a line; ``⏎`` ends a line of the file."""
    lines = text.strip("\n").split("\n")
    return [(file.replace("⏎", "\n"), said) for file, said in zip(lines[::2], lines[1::2], strict=True)]


#: Files that are broken, by their kind, and what the message holds.
BROKEN: Final[dict[str, list[tuple[str, str]]]] = {
    "conf": _broken(r"""
SwitchName=a Nodes=n1⏎SwitchName=a Nodes=n2
line 2: switch 'a' is also defined at topology.conf line 1
SwitchName=top Switches=a,b⏎SwitchName=a Nodes=n1
line 1: switch 'top' has the child 'b', which is defined nowhere
SwitchName=a Switches=b⏎SwitchName=b Switches=a
switch 'a' is below itself
SwitchName=a Nodes=n[1-2]⏎SwitchName=b Nodes=n[2-3]
node 'n2' hangs at 'a' and at 'b'
SwitchName=t Switches=l⏎SwitchName=u Switches=l⏎SwitchName=l Nodes=n
switch 'l' is below 't' and below 'u'
SwitchName=a Nodes=n1 Switches=b
switch 'a' has nodes and child switches
SwitchName=a Nodes=n[1-2], n3
line 1: 'n3' is not key=value
SwitchName=a Nodes=n[1-2
line 1: 'n[1-2' has an opening bracket that is not closed
BlockName=a Nodes=n[1-4]⏎BlockSizes=4,12
block size 12 is not 4 times a power of two
BlockName=a Nodes=n[1-4]⏎BlockName=b Nodes=n5⏎BlockSizes=4
block 'b' has 1 nodes, fewer than the base block size 4
SwitchName=a Node=n1
line 1: unknown key 'node'
# nothing
has neither SwitchName nor BlockName lines
SwitchName=a Nodes=n1⏎BlockName=b Nodes=n2
line 2: 'blockname' in a file that has 'switchname' at line 1
SwitchName=a BlockName=b
line 1: key 'blockname' beside switchname
SwitchName=a⏎Nodes=n1
line 2: key 'nodes' without a name of a switch or block
SwitchName=a Nodes=n1 Nodes=n2
line 1: the key 'nodes' stands twice
SwitchName=a Nodes= LinkSpeed=1
line 1: 'Nodes=' is not key=value
SwitchName=a Nodes="n1
line 1: 'Nodes="n1' is not key=value
SwitchName=a
has no nodes
BlockName=a
has no nodes
BlockName=a Nodes=n1⏎BlockSizes=0
line 2: '0' is not a number from 1 on
BlockName=a Nodes=n1⏎BlockSizes=1⏎BlockSizes=2
line 3: BlockSizes also stand at line 2
SwitchName=a Nodes=n1⏎BlockSizes=1
line 2: BlockSizes without BlockName
RingName=a Nodes=n[1-4]⏎RingName=b Nodes=n5
has 2 rings (a, b): one that stands alone can be read
RingName=a Nodes=n1,n1
line 1: 'a' names a node twice
SwitchName=a Level=1 Nodes=n[1-3] Switches=b⏎SwitchName=b Level=0 Nodes=n[1-2]
line 1: switch 'a' has other nodes than the switches below it: n3
SwitchName=a Level=1 Nodes=n1 Switches=b⏎SwitchName=b Level=0 Nodes=n[1-2]
line 1: switch 'a' has other nodes than the switches below it: n2
SwitchName=a Level=1 Nodes=n[1-2] Switches=b
line 1: switch 'a' has other nodes than the switches below it: n1, n2
SwitchName=a Level=0 Nodes=n1 BlockIndex=0
line 1: key 'blockindex' beside switchname
AggregatedBlock=a BlockIndex=0 BlockSize=4
has neither SwitchName nor BlockName lines
BlockName=a BlockIndex=0 Nodes=n[1-4] BlockSize=4⏎AggregatedBlock=a Nodes=n[1-4] BlockSize=12
block size 12 is not 4 times a power of two
BlockName=a BlockIndex=0 Nodes=n[1-4] BlockSize=8
block 'a' has 4 nodes, fewer than the base block size 8
BlockName=a BlockIndex=0 BlockSize=4
has no nodes
"""),
    "yaml": _broken(r"""
tree: {switches: []}
is not a list of entries
- topology: a⏎  flat: true⏎- topology: b⏎  flat: true
no topology with cluster_default: true; there are a, b
- topology: a⏎  tree: {switches: []}⏎  flat: true
has tree and flat of tree, block, flat
- topology: a⏎  flat: true
is flat and names no nodes
- topology: a⏎  flat: false
topology 'a': flat must be true, not 'false'
topology: a
topology 'a' has none of tree, block, flat
- tree: {}
[0] has no topology: NAME
- topology: a⏎  flat: true⏎- topology: a
[1]: the topology 'a' stands twice
- topology: a⏎  trees: []⏎  flat: true
topology 'a': unknown key 'trees'
- topology: a⏎  tree: [1]
topology 'a': tree: must be an object, not a list of 1
- topology: a⏎  tree: {switches: []}
tree: switches must be a list of entries, not a list of 0
- topology: a⏎  tree: {switches: [{nodes: n1}]}
tree.switches[0]: has no switch: NAME
- topology: a⏎  tree: {switches: [{switch: s, node: n1}]}
tree.switches[0]: unknown key 'node'
- topology: a⏎  tree: {switches: [{switch: s, nodes: [n1]}]}
tree.switches[0]: nodes must be a hostlist, not a list of 1
- topology: a⏎  tree: {switches: [{switch: s, nodes: 'n[1'}]}
tree.switches[0].nodes: 'n[1' has an opening
- topology: a⏎  block: {blocks: [{block: b, nodes: n1}], block_sizes: 1}
block: block_sizes must be a list
- topology: a⏎  block: {blocks: [{block: b, nodes: n1}], block_sizes: [[1]]}
block.block_sizes: a list of 1 is not a number
- topology: a⏎  torus3d: {toruses: [{name: p, nodes: n1}, {name: q}]}
has 2 toruses (p, q)
- topology: a⏎  torus3d: {toruses: [{name: p, nodes: n1, dims: {x: 2, y: 1}}]}
toruses[0].dims.z: null is not a number
- topology: a⏎  torus3d: {toruses: [{name: p, nodes: n1, dims: {x: 2, y: 1, z: 1}}]}
'p' has 1 nodes for 2x1x1 places
- topology: a⏎  torus3d: {toruses: [{name: p, regions: [{}], dims: {x: 2, y: 1, z: 1}}]}
toruses[0]: regions are not read
- topology: a⏎  tree: {switches: [{switch: s, switch: t}]}
line 2: the key 'switch' stands twice
- topology: a⏎  tree: [⏎
line 3:
- topology: a⏎  tree: *b⏎
line 2:
- topology: a⏎  <<: {}⏎
line 2: '<<' is no key that is read
just words
is no network
{}
is no network
---⏎# nothing⏎---⏎
is empty
"""),
    "kueue": _KUEUE,
    "volcano": _VOLCANO,
    "topograph": _broken(r"""
blocks:⏎- switch: x⏎  nodes: [a]
switch 'x', which is neither a key of switches nor a child
blocks:⏎- switch: x
blocks[0]: has no nodes
switches: {x: {}}⏎blocks:⏎- switch: x
blocks[0]: has no nodes
switches: {x: {}}⏎blocks:⏎- nodes: [a]
blocks[0]: has no switch
switches: {x: {}}
has no nodes
switches: [{name: x}]
switches must be an object of switches by name, not a list of 1
switches: {x: [y]}
switches.x must be an object
switches: {x: {nodes: [a]}}
switches.x has nodes: those of a switch stand in blocks
switches: {x: {switches: y}}
switches.x.switches must be a list of strings, not 'y'
switches: {x: {switches: [y]}, y: {switches: [x]}}⏎blocks: [{nodes: [a], switch: y}]
switch 'y' has nodes and child switches
blocks: [5]
blocks must be a list of objects
blocks: [{nodes: [{a: 1}]}]
blocks[0].nodes must be a list of strings
blocks: [{nodes: ['a[']}]
blocks[0].nodes: 'a[' has an opening
"""),
}

#: The same of files of free nodes.
BROKEN_FREE: Final = _broken(r"""
PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST⏎devel up 1:00:00 2 alloc a[01-02]
line 1: is of another table: sinfo -h -N -o '%N %T' prints a node and its state a line
devel up 1:00:00 2 alloc a[01-02]⏎std* up 4-00:00:00 1 drain* a03
line 1: is of another table: sinfo -h -N -o '%N %T'
NODELIST   NODES PARTITION       STATE⏎a01            1    std*        idle
line 1: is of another table: sinfo -h -N -o '%N %T'
⏎a01 1 std* idle⏎a02 1 std* mixed
line 2: is of another table: sinfo -h -N -o '%N %T'
Mon Mar 04 08:00:00 2024⏎PARTITION AVAIL TIMELIMIT JOB_SIZE ROOT OVERSUBS GROUPS NODES STATE NODELIST
line 2: is of another table: sinfo -h -N -o '%N %T'
REASON               USER      TIMESTAMP           NODELIST⏎disk root 2024-03-04T08:00:00 a03
line 1: is of another table: sinfo -h -N -o '%N %T'
NodeName=a01 Arch=x86_64 CoresPerSocket=32⏎   State=IDLE ThreadsPerCore=1
line 1: is of another table: sinfo -h -N -o '%N %T'
n1 idle⏎PARTITION AVAIL TIMELIMIT
line 2: 'PARTITION AVAIL TIMELIMIT' is not a node and a state
n1 idle⏎n2 n3
line 2: 'n2 n3' is not a node and a state
n1 idle⏎n[2 idle
line 2: 'n[2' has an opening bracket
n1⏎n[3-1]
line 2: the range '3-1' runs downwards
{"sinfo": 5}
sinfo must be a list
{"sinfo": [5]}
sinfo[0].node.state must be a list of strings, not null
{"sinfo": [{"node": {"state": ["IDLE"]}, "nodes": {"nodes": "n1"}}]}
sinfo[0].nodes.nodes must be a list of strings, not 'n1'
{"sinfo": [{"node": {"state": ["IDLE"]}, "nodes": {"nodes": ["n]"]}}]}
sinfo[0].nodes.nodes: 'n]' has a closing
{"nodes": []}
is neither of sinfo --json nor of kubectl get nodes -o json
{"sinfo": [
line 1, column 12:
kind: Topology⏎
has no nodes
""")


def switches_of(network: NetworkFile) -> str:
    """Return the switches of a tree as samples tell them, each followed by those below it."""
    tree = network.topology
    assert hasattr(tree, "parent")
    parent: list[int] = tree.parent.tolist()
    told: list[str] = []
    stack = [number for number, above in reversed([*enumerate(parent)]) if above < 0]
    while stack:
        number = stack.pop()
        above = f" < {network.switches[parent[number]]}" if parent[number] >= 0 else ""
        told.append(f"{network.switches[number]}{above}")
        stack += [below for below, above in reversed([*enumerate(parent)]) if above == number]
    return ", ".join(told)


def nodes_of(network: NetworkFile) -> str:
    """Return the nodes of a tree as samples tell them."""
    tree = network.topology
    assert hasattr(tree, "switch")
    pairs = zip(network.nodes, tree.switch.tolist(), strict=True)
    return ", ".join(f"{name}: {network.switches[switch]}" for name, switch in pairs)
