import { expect, it } from 'vitest';
import * as z from 'zod';
import { KnownProblems } from '../../src/study/evaluation/known-problems.js';

const known = [0, 1, 2].map((id) => ({
  ...{ id, document: `d${id}`, prompt: `p"${id}`, target: 'täget', response: '' },
  scores: { em: 0 },
  answers: { none: '' },
}));

const answered = known.map((problem) => ({
  ...problem,
  response: `says "}},{"id":1, \\ and \\" of ${problem.id}\n`,
  scores: { em: 1 },
  answers: { none: `ü}},{"id":${problem.id},"` },
}));
const text = (problems: readonly object[]) => `${JSON.stringify(problems)}\n`;
const schema = z.object({
  scores: z.record(z.string(), z.number()),
  answers: z.record(z.string(), z.string()),
});
const isRight = (outcome: unknown) => schema.safeParse(outcome).success;
const read = (source: string | Buffer, check = isRight) =>
  new KnownProblems(known).read(Buffer.from(source), check);

it('reads scores and answers of known problems without responses, and shares equal ones', () => {
  expect(read(text(answered))).toEqual(answered.map(({ scores, answers }) => ({ scores, answers })));
  const reader = new KnownProblems(known);
  const [one, two] = [0, 1].map(() => reader.read(Buffer.from(text(answered)), () => true));
  expect(one?.[1]).toBe(two?.[1]);
  expect(read(text(answered), () => false)).toBeUndefined();
});

it('leaves texts of another form, of other problems and of damage to the whole reader', () => {
  const whole = text(answered);
  for (let cut = 0; cut < whole.length - 1; cut++) expect(read(whole.slice(0, cut))).toBeUndefined();
  for (const other of [
    text(answered.slice(1)),
    text([...answered, { ...answered[0], id: 3 }]),
    text(answered.toReversed()),
    text(answered.map((problem) => ({ ...problem, prompt: 'other' }))),
    JSON.stringify(answered, null, 2),
    whole.replace('"scores":{"em":1}', '"scores":{"em":1,"em":0}'),
    whole.replace('"scores":{"em":1}', '"scores":{"em":NaN}'),
    whole.replace('"scores":', '"id":7,"scores":'),
    whole.replace('"scores":', '"response":"","scores":'),
  ])
    expect(read(other), other.slice(0, 200)).toBeUndefined();
  expect(
    read(Buffer.concat([Buffer.from(whole.slice(0, -3)), Buffer.from([0xff, 0xff, 0x0a])])),
  ).toBeUndefined();
});
