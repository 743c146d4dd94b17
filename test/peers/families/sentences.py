"""Models of sentence-transformers, merged by layerloom and by PyTorch.

  sentences.py make MODEL DIR         makes DIR/plain/a, b of MODEL, and DIR/dense/a, b with a Dense module;
                                      changes each weight slightly.
  sentences.py compare DIR KIND WHAT  checks that DIR/KIND/WHAT equals the merge of loaded models;
                                      WHAT: soup, or swap of 1 bottom, 1 transition and 1 top layer of 6.
"""
import re, sys, warnings

warnings.filterwarnings('ignore')
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense

texts = ['Layers are swapped.', 'Wie heißt das?', 'kumi na mbili', '十二', '']


def make(source, root):
    for kind in ('plain', 'dense'):
        for seed, expert in enumerate('ab', 1):
            model = SentenceTransformer(source, device='cpu')
            torch.manual_seed(0)
            if kind == 'dense':
                model.insert(2, Dense(model.get_embedding_dimension(), 64))
            torch.manual_seed(seed)
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.add_(torch.randn_like(parameter) * 0.01 * parameter.abs().mean())
            model.save(f'{root}/{kind}/{expert}')


def compare(root, kind, what):
    load = lambda which: SentenceTransformer(f'{root}/{kind}/{which}', device='cpu')
    of, merged, expected = {which: load(which).state_dict() for which in 'ab'}, load(what), load('a')

    def tensor(name):
        a, b = of['a'][name], of['b'][name]
        layer = re.search(r'encoder\.layer\.(\d+)\.', name)
        zone = 'mean' if what == 'soup' or not layer else {0: 'b', 1: 'mean', 5: 'b'}.get(int(layer[1]), 'a')
        return {'a': a, 'b': b, 'mean': 0.5 * a + 0.5 * b if a.is_floating_point() else a}[zone]

    expected.load_state_dict({name: tensor(name) for name in of['a']})
    found, wanted = merged.state_dict(), expected.state_dict()
    assert found.keys() == wanted.keys() and all(torch.equal(found[name], wanted[name]) for name in wanted), (kind, what)
    first, second = merged.encode(texts), expected.encode(texts)
    assert (first == second).all(), (kind, what)
    print(f'ok: {kind} {what}: {len(wanted)} tensors, embeddings {list(first.shape)}')


if __name__ == '__main__':
    dict(make=make, compare=compare)[sys.argv[1]](*sys.argv[2:])
