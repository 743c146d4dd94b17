import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { candidatesOf } from '../../src/cli/completion/candidates.js';
import { describeCommands } from '../../src/cli/framework/describe.js';
import { buildProgram } from '../../src/cli/program.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

/** The text before Tab, and the shell's offers. */
const lines: readonly (readonly [typed: string, offered: readonly string[]])[] = [
  ['layerloom re', ['rebuild', 'recipe', 'relayout', 'report', 'rescore', 'revert']],
  ['layerloom store ', ['gc', 'ls', 'verify']],
  ['layerloom experiment s', ['slurm', 'snakemake']],
  ['layerloom swap --bottom', ['--bottom', '--bottom-transition']],
  ['layerloom experiment init --p', ['--preset', '--problems']],
  ['layerloom swap --others ', ['average', 'language', 'task']],
  ['layerloom swap --task ./models --link ', ['copy', 'hard', 'reflink', 'symbolic']],
  ['layerloom experiment init --preset figure', ['figure-3-max', 'figure-3-min']],
  ['layerloom completion ', ['bash', 'fish', 'zsh']],
  ['layerloom merge ', ['models', 'with space.yaml']],
  ['layerloom swap --lang ', ['models', 'with space.yaml']],
  ['layerloom soup ./models ', ['models', 'with space.yaml']],
  ['layerloom swap -o ', ['models']],
  ['layerloom store ls ', ['models']],
  ['layerloom swap --bottom ', []],
];

/** Asks a shell for its offers for each line; `place` is a directory for the driver's files. */
type Driver = (script: string, place: string, directory: string) => string[][];

const wordsOf = (line: string): string =>
  line
    .split(' ')
    .map((word) => `'${word}'`)
    .join(' ');

const groups = (text: string): string[][] => {
  const found: string[][] = [[]];
  for (const line of text.split('\n')) {
    if (line === 'END') found.push([]);
    else if (line !== '') found.at(-1)?.push(line.replace(/\/$/, ''));
  }
  return found.slice(0, -1).map((group) => [...new Set(group)].sort());
};

const bash: Driver = (script, place, directory) => {
  const driver = join(place, 'driver.bash');
  const calls = lines.map(([line]) => `offer ${wordsOf(line)}`).join('\n');
  writeFileSync(
    driver,
    `source '${script}'
offer() {
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _layerloom 2>&1
  printf '%s\\n' "\${COMPREPLY[@]}" END
}
cd '${directory}'
${calls}`,
  );
  return groups(execFileSync('bash', ['--noprofile', '--norc', driver], { encoding: 'utf8' }));
};

const fish: Driver = (script, place, directory) => {
  const driver = join(place, 'driver.fish');
  const calls = lines.map(([line]) => `complete -C '${line}' | string split -f1 \\t; echo END`).join('\n');
  writeFileSync(driver, `source '${script}'\ncd '${directory}'\n${calls}\n`);
  return groups(
    execFileSync('fish', ['--no-config', driver], {
      encoding: 'utf8',
      env: { ...process.env, HOME: place, XDG_CONFIG_HOME: place, XDG_DATA_HOME: place },
    }),
  );
};

/** Zsh completes only at a terminal: a driver types into one, and `compadd` writes its offers down. */
const zsh: Driver = (script, place, directory) => {
  const [setup, driver, offered] = ['setup.zsh', 'driver.zsh', 'offered'].map((name) =>
    join(place, name),
  ) as [string, string, string];
  writeFileSync(
    setup,
    `PS1=; autoload -Uz compinit; compinit -u -D; source '${script}'; cd '${directory}'
compadd() {
  local -a matching
  # Calls that only fill arrays offer nothing.
  if [[ " $* " != *' '-(O|A|D)[[:space:]]* ]]; then
    builtin compadd -O matching "$@"
    print -rl -- $matching >> '${offered}'
  fi
  builtin compadd "$@"
}
offer() { zle expand-or-complete; BUFFER=; print END >> '${offered}' }
zle -N offer; bindkey '^T' offer
print END >> '${offered}'
`,
  );
  const typed = lines.map(([line]) => `'${line}'`).join(' ');
  writeFileSync(
    driver,
    `zmodload zsh/zpty
zpty terminal zsh -f -i
zpty -w terminal "source '${setup}'"
wait_for() { for i in {1..1000}; do [[ -r '${offered}' && $(grep -c '^END$' '${offered}') -ge $1 ]] && return; sleep 0.02; done; exit 1 }
integer n=1
wait_for 1
for line in ${typed}; do
  zpty -w -n terminal "$line"$'\\x14'
  n+=1; wait_for $n
done
zpty -d terminal
`,
  );
  execFileSync('zsh', ['-f', driver], { cwd: place, timeout: 60_000 });
  // File names are offered as typed, with escaped spaces.
  return groups(readFileSync(offered, 'utf8').replaceAll('\\ ', ' ')).slice(1);
};

const isHere = (shell: string): boolean => spawnSync(shell, ['--version']).error === undefined;

describe('layerloom completion', () => {
  // Skips a shell that is not installed; bash always is.
  for (const [shell, driver] of Object.entries({ bash, zsh, fish }))
    it.skipIf(!isHere(shell))(`completes in ${shell}`, { timeout: 90_000 }, async () => {
      const [place, directory] = [temporaryDirectory(), temporaryDirectory()];
      mkdirSync(join(directory, 'models'));
      writeFileSync(join(directory, 'with space.yaml'), '');
      const { code, stdout, stderr } = await cli(['completion', shell]);
      expect([code, stderr]).toEqual([0, '']);
      const script = join(place, 'script');
      writeFileSync(script, stdout);
      const offered = driver(script, place, directory);
      expect(lines.map(([line], index) => [line, offered[index]])).toEqual(lines);
    });

  it('offers paths for everything that is one', () => {
    for (const { path, optionGroups, arguments: given } of describeCommands(buildProgram())) {
      const values = optionGroups.flatMap(({ options }) => options.flatMap(({ value }) => value ?? []));
      for (const value of [...values, ...given])
        if (/dir|file|csv|model|checkpoint|expert|recipe|experiment/.test(value.name))
          expect(candidatesOf(value).kind, `${path.join(' ')} ${value.name}`).toMatch(/files|directories/);
    }
  });

  it('offers something for every argument', () => {
    // Repositories of the hub are not on this machine.
    for (const { path, arguments: given } of describeCommands(buildProgram()))
      for (const argument of given)
        if (argument.name !== 'repository')
          expect(candidatesOf(argument).kind, `${path.join(' ')} ${argument.name}`).not.toBe('nothing');
  });

  it('refuses another shell', async () => {
    expect(await cli(['completion', 'tcsh'])).toMatchObject({
      code: 2,
      stderr: 'error: shell: expected bash, zsh, fish, got "tcsh"\n',
    });
  });
});
