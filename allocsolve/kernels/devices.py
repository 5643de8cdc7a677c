"""What is free on the devices of nodes that are places, for kernels: how many chunks there is room for there.

A chunk that takes less than a device has it on one of them, any other has whole devices. All of these kernels
take None where nothing is on devices, and then do nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Devices(NamedTuple):
    """The resource that is on devices, what is free on each of them, and who has what there."""

    #: An index of resources, and how much of it a device has.
    resource: int
    size: int
    #: Shape (nodes,): how many devices there are; read-only.
    number: NDArray[np.int64]
    #: Shape (3, nodes, devices): what is free, as `Places.free`.
    free: NDArray[np.int64]
    #: Shape (nodes, devices): the least that is free at all times for which room is noted in `Places.room`.
    seen: NDArray[np.int64]
    #: Shape (pieces + nodes, devices): how many chunks of a piece are on a device, or have it as a whole one.
    held: NDArray[np.int64]
    #: Shape (devices,): the same of the chunks that are laid on a node, and what is left beside them, of what
    #: is free now and of what is seen.
    laid: NDArray[np.int64]
    now: NDArray[np.int64]
    left: NDArray[np.int64]


@inner_kernel
def _fitting(devices: Devices, free: NDArray[np.int64], node: int, amount: int, room: int) -> int:
    """Return for how many chunks there is room, if there is for `room` besides. O(devices)."""
    if not room or not amount:
        return room
    there = 0
    if amount < devices.size:
        for device in range(devices.number[node]):
            there += free[device] // amount
    else:
        for device in range(devices.number[node]):
            there += free[device] == devices.size
        there //= amount // devices.size
    return min(room, there)


@inner_kernel
def room_on_devices(
    devices: Devices | None, when: int, each: NDArray[np.int64], shape: int, node: int, room: int
) -> int:
    """Return for how many chunks of a shape there is room, if there is for `room` besides."""
    if devices is None:
        return room
    return _fitting(devices, devices.free[when, node], node, each[shape, devices.resource], room)


@inner_kernel
def see_devices(devices: Devices | None, when: int, node: int) -> None:
    """Note what is free on each device of a node at one time."""
    if devices is None:
        return
    for device in range(devices.number[node]):
        devices.seen[node, device] = devices.free[when, node, device]


@inner_kernel
def also_see_devices(
    devices: Devices | None, when: int, each: NDArray[np.int64], shape: int, node: int, room: int
) -> int:
    """Note what is free at another time, too; return the room, as above, that there is at all times noted."""
    if devices is None:
        return room
    for device in range(devices.number[node]):
        devices.seen[node, device] = min(devices.seen[node, device], devices.free[when, node, device])
    return _fitting(devices, devices.seen[node], node, each[shape, devices.resource], room)


@inner_kernel
def hold_devices(
    devices: Devices | None,
    when: int,
    each: NDArray[np.int64],
    shape: int,
    alone: int,
    node: int,
    piece: int,
    sign: int,
) -> None:
    """Let a piece hold what it has on devices, or (sign -1) give it back; all of them if it is `alone`."""
    if devices is None:
        return
    amount = min(each[shape, devices.resource], devices.size)
    for device in range(devices.number[node]):
        taken = devices.size if alone else devices.held[piece, device] * amount
        devices.free[when, node, device] -= sign * taken


@inner_kernel
def copy_devices(devices: Devices | None, when: int, to: int) -> None:
    """Let what is free at one time be free at another one. O(nodes x devices)."""
    if devices is None:
        return
    for node in range(len(devices.number)):
        for device in range(devices.number[node]):
            devices.free[to, node, device] = devices.free[when, node, device]


@inner_kernel
def copy_held(devices: Devices | None, piece: int, to: int) -> None:
    """Let another piece have the same devices."""
    if devices is None:
        return
    for device in range(devices.held.shape[1]):
        devices.held[to, device] = devices.held[piece, device]


@inner_kernel
def begin_laying(devices: Devices, now: int, node: int) -> None:
    """Begin to lay chunks on a node: none is laid."""
    for device in range(len(devices.laid)):
        devices.laid[device] = 0
        devices.now[device] = devices.free[now, node, device]
        devices.left[device] = devices.seen[node, device]


@inner_kernel
def lay(devices: Devices, device: int, amount: int, sign: int) -> None:
    """Lay a chunk, or one of its whole devices, on a device, or (sign -1) take it back."""
    taken = sign * min(amount, devices.size)
    devices.laid[device] += sign
    devices.now[device] -= taken
    devices.left[device] -= taken


@inner_kernel
def lay_tight(devices: Devices, node: int, amount: int, chunks: int) -> None:
    """Lay chunks, each on the device where least is left of those that do, the first of equal ones.

    Whole devices are the first ones. O(chunks x devices).
    """
    if not amount:
        return
    needed, each = min(amount, devices.size), max(amount // devices.size, 1)
    for _ in range(chunks * each):
        best = -1
        for device in range(devices.number[node]):
            left = devices.left[device]
            if left >= needed and (best < 0 or left < devices.left[best]):
                best = device
        lay(devices, best, amount, 1)
