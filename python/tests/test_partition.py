import json

import pytest

from layerloom_train import Partition, checkpoint_name, read_partition


@pytest.mark.parametrize(
    "name",
    [
        "model.layers.0.mlp.up_proj.weight",
        "module.model.layers.0.mlp.up_proj.weight",
        "_orig_mod.model.layers.0.mlp.up_proj.weight",
        "base_model.model.model.layers.0.mlp.up_proj.base_layer.weight",
        "base_model.model.model.layers.0.mlp.up_proj.lora_A.default.weight",
        "base_model.model.model.layers.0.mlp.up_proj.lora_B.weight",
        "base_model.model.model.layers.0.mlp.up_proj.lora_magnitude_vector.default.weight",
        "base_model.model.model.layers.0.mlp.up_proj.modules_to_save.default.weight",
    ],
)
def test_names_the_weight_that_a_parameter_is_or_changes(name):
    assert checkpoint_name(name) == "model.layers.0.mlp.up_proj.weight"


def test_names_the_embedding_that_an_adapter_changes():
    assert checkpoint_name("base_model.model.model.embed_tokens.lora_embedding_A.default") == "model.embed_tokens.weight"


def test_keeps_the_bias_of_a_wrapped_layer():
    assert checkpoint_name("base_model.model.h.0.fc.base_layer.bias") == "h.0.fc.bias"


def test_refuses_parts_that_share_a_parameter():
    with pytest.raises(ValueError, match="a.weight is in two parts"):
        Partition({"language": frozenset({"a.weight"}), "task": frozenset({"a.weight"})})


def test_names_a_parameter_that_no_part_has(partition):
    with pytest.raises(KeyError, match="no other.weight: it was made for another model"):
        partition.part_of("other.weight")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "has no parts"),
        ("{}", "has no parts"),
        (json.dumps({"parts": {"task": "a.weight"}}), "'task' is not a list"),
        (json.dumps({"parts": {"task": ["a"], "language": ["a"]}}), "a is in two parts"),
    ],
)
def test_refuses_a_file_that_is_no_partition_and_names_it(tmp_path, content, message):
    path = tmp_path / "partition.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message) as error:
        read_partition(path)
    assert str(path) in str(error.value)
