"""Parameters with several places in a model: one module called twice, or one weight in two modules.

They are facts of a node: ``"module": "decoder.embed"``, equal in two nodes, and
``"tied": {"weight": "decoder.embed.weight"}`` if a parameter is also another module's.
"""

from collections.abc import Iterable, Mapping

from fastdispatch._core import Error
from fastdispatch.pipeline.convert.layer_graph import Names
from fastdispatch.pipeline.graph import Node

#: (stage, name of the parameter or layer in the stage)
Weight = tuple[int, str]


class Ties:
    """Which layers and parameters are one."""

    def __init__(self, places: Iterable[tuple[int, Node]], names: Names):
        """``places``: the declared nodes of every stage."""
        self._layers: dict[tuple[int, str], str] = {}
        self._modules: dict[str, list[Weight]] = {}
        self._weights: dict[str, list[Weight]] = {}
        for stage, node in places:
            module = node.about.get("module")
            layer = names.layer(node.id)
            if isinstance(module, str) and module:
                first = next((place for place in self._modules.get(module, []) if place[0] == stage), None)
                if first is not None:
                    self._layers[stage, node.id] = first[1]
                    continue
                self._modules.setdefault(module, []).append((stage, layer))
            self._tied(stage, node, layer)

    def _tied(self, stage: int, node: Node, layer: str) -> None:
        tied = node.about.get("tied", {})
        if not isinstance(tied, Mapping) or not all(
            isinstance(each, str) and _is_path(name) for name, each in tied.items()
        ):
            raise Error(f'{node}: "tied" is not an object of parameter names')
        for name, original in tied.items():
            self._weights.setdefault(str(original), []).append((stage, f"{layer}.{name}"))

    def layer(self, stage: int, id: str) -> str | None:
        """The layer of an earlier node of the stage that is the same module."""
        return self._layers.get((stage, id))

    @property
    def groups(self) -> list[list[Weight]]:
        """Places of one parameter, the first of which is the one that stays. A place without a dot is a module."""
        modules = dict(self._modules)
        groups = [places for places in modules.values() if len(places) > 1]
        for original, places in self._weights.items():
            module, _, name = original.rpartition(".")
            home = [(stage, f"{layer}.{name}") for stage, layer in modules.get(module, [])[:1]]
            group = [*home, *(place for place in places if place not in home)]
            if len(group) > 1:
                groups.append(sorted(group))
        return groups

    def statements(self, stage: int) -> list[str]:
        """Of the constructor of a stage: two names for one parameter."""
        found = []
        for group in self.groups:
            own = [name for each, name in group if each == stage]
            found += [f"self.{name} = self.{own[0]}" for name in own[1:]]
        return found

    def across(self) -> list[str]:
        """Of the constructor of the whole: parameters of several stages."""
        found = []
        for group in self.groups:
            home, name = group[0]
            found += [
                f"self.stage{each}.{other} = self.stage{home}.{name}" for each, other in group[1:] if each != home
            ]
        return found


def _is_path(name: object) -> bool:
    return isinstance(name, str) and all(part.isidentifier() for part in name.split("."))
