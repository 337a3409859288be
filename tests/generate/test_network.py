"""The discrete network behind the planted model."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextbias.generate.network import Network, Node


def rain() -> Network:
    """Rain (0.2), a sprinkler that is used less in rain, and grass that either makes wet."""
    return Network(
        [
            Node("rain", ("no", "yes"), (), np.array([0.8, 0.2])),
            Node("sprinkler", ("off", "on"), ("rain",), np.array([[0.6, 0.4], [0.99, 0.01]])),
            Node(
                "grass",
                ("dry", "wet"),
                ("sprinkler", "rain"),
                np.array([[[1.0, 0.0], [0.2, 0.8]], [[0.1, 0.9], [0.01, 0.99]]]),
            ),
        ]
    )


def test_marginal_by_hand() -> None:
    # P(wet) = P(off, rain) .8 + P(on, dry sky) .9 + P(on, rain) .99
    #        = .2 * .99 * .8 + .8 * .4 * .9 + .2 * .01 * .99 = .1584 + .288 + .00198
    assert rain().marginal(["grass"]) == pytest.approx([1 - 0.44838, 0.44838], abs=1e-12)


def test_joint_has_the_axes_in_the_order_asked_for() -> None:
    # P(wet, rain) = .2 * (.99 * .8 + .01 * .99) = .16038, whichever comes first.
    network = rain()
    assert network.marginal(["grass", "rain"])[1, 1] == pytest.approx(0.16038, abs=1e-12)
    assert network.marginal(["rain", "grass"])[1, 1] == pytest.approx(0.16038, abs=1e-12)
    assert network.marginal(["rain", "grass"])[1, 0] == pytest.approx(0.2 - 0.16038, abs=1e-12)


def test_sample_takes_the_stretch_that_holds_the_number() -> None:
    network = rain()
    numbers = {"rain": 0.79, "sprinkler": 0.6, "grass": 0.1}
    # .79 < .8: no rain; .6 is the first number of "on"; .1 is the first number of "wet".
    assert network.sample(numbers.__getitem__) == {"rain": "no", "sprinkler": "on", "grass": "wet"}


def test_sample_never_takes_what_has_no_probability() -> None:
    network = Network([Node("a", ("x", "y", "z"), (), np.array([0.0, 1.0, 0.0]))])
    for number in (0.0, 0.5, np.nextafter(1.0, 0.0)):
        assert network.sample(lambda _, u=float(number): u) == {"a": "y"}


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Chains with skips: every node may have any two earlier ones as parents."""
    nodes: list[Node] = []
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    for number in range(draw(st.integers(1, 4))):
        parents = draw(st.lists(st.sampled_from(nodes), max_size=2, unique=True)) if nodes else []
        size = draw(st.integers(1, 3))
        shape = (*(len(parent.values) for parent in parents), size)
        cells = rng.random(shape) + 1e-3
        values = tuple("abc"[:size])
        names = tuple(parent.name for parent in parents)
        nodes.append(Node(str(number), values, names, cells / cells.sum(axis=-1, keepdims=True)))
    return Network(nodes)


@given(networks())
def test_every_marginal_is_a_sum_over_the_joint(network: Network) -> None:
    joint = network.marginal(network.names)
    assert joint.sum() == pytest.approx(1)
    for number, name in enumerate(network.names):
        others = tuple(axis for axis in range(joint.ndim) if axis != number)
        assert network.marginal([name]) == pytest.approx(joint.sum(axis=others))


@settings(max_examples=15)
@given(networks())
def test_samples_on_a_grid_have_the_joint_distribution(network: Network) -> None:
    # Numbers in the middle of `cells` equal stretches: each answer's share is right within 1/cells
    # at each node, so the share of any joint answer is within nodes/cells.
    cells = {1: 400, 2: 40, 3: 14, 4: 8}[len(network.names)]
    grid = [(i + 0.5) / cells for i in range(cells)]
    counts = np.zeros_like(network.marginal(network.names))
    for numbers in itertools.product(grid, repeat=len(network.names)):
        drawn = network.sample(dict(zip(network.names, numbers, strict=True)).__getitem__)
        index = [network.values(name).index(answer) for name, answer in drawn.items()]
        counts[tuple(index)] += 1
    exact = network.marginal(network.names)
    assert np.abs(counts / counts.sum() - exact).max() <= len(network.names) / cells


def test_refuses_what_is_no_network() -> None:
    child = Node("b", ("x",), ("a",), np.ones((1, 1)))
    with pytest.raises(ValueError, match="out of order"):
        Network([child])
    with pytest.raises(ValueError, match="not a distribution"):
        Network([Node("a", ("x", "y"), (), np.array([0.5, 0.4]))])
    with pytest.raises(ValueError, match="not a distribution"):
        Network([Node("a", ("x", "y"), (), np.array([1.5, -0.5]))])
    with pytest.raises(ValueError, match="shape"):
        Network([Node("a", ("x", "y"), (), np.ones(3) / 3)])
