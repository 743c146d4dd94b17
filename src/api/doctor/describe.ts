import type { Finding, Mark } from './finding.js';

const marks: Readonly<Record<Mark, string>> = { ok: '✓', warning: '!', problem: '✗' };

export const describeExamination = ({
  findings,
  ok,
}: {
  readonly findings: readonly Finding[];
  readonly ok: boolean;
}): string => {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  const lines = findings.flatMap(({ subject, mark, text, remedy }) => [
    `  ${marks[mark]} ${subject.padEnd(width)}  ${text}`,
    ...(remedy === undefined ? [] : [`    ${' '.repeat(width)}  → ${remedy}`]),
  ]);
  return [
    ...lines,
    '',
    ok ? '  Merging works here.' : '  Merging does not work here: fix the findings marked ✗.',
  ].join('\n');
};
