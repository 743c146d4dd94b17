"""Signs and verifies folders by model-signing 1.1, and checks a statement by in-toto's library.

model_signing_lane.py sign KEY FOLDER
model_signing_lane.py verify KEY FOLDER...        prints a list: null, or why it is refused
model_signing_lane.py statement FILE              prints its predicate type
"""

import json
import pathlib
import sys


def configured(folder, ignored=("model.sig",)):
    from model_signing import hashing

    return hashing.Config().set_ignored_paths(paths=[folder / name for name in ignored])


def sign(key, folder):
    from model_signing import signing

    folder = pathlib.Path(folder)
    config = signing.Config().use_elliptic_key_signer(private_key=key)
    config.set_hashing_config(configured(folder)).sign(folder, folder / "model.sig")


def refusal(key, folder):
    from model_signing import verifying

    folder = pathlib.Path(folder)
    config = verifying.Config().use_elliptic_key_verifier(public_key=key)
    try:
        config.set_hashing_config(configured(folder)).verify(folder, folder / "model.sig")
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def statement(path):
    from google.protobuf import json_format
    from in_toto_attestation.v1 import statement as in_toto
    from in_toto_attestation.v1 import statement_pb2

    message = json_format.Parse(pathlib.Path(path).read_text(), statement_pb2.Statement())
    in_toto.Statement.copy_from_pb(message).validate()
    print(message.predicate_type)


command, *words = sys.argv[1:]
if command == "sign":
    sign(*words)
elif command == "verify":
    print(json.dumps([refusal(words[0], folder) for folder in words[1:]]))
else:
    statement(*words)
