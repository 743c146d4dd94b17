import { describe, expect, it } from 'vitest';
import { openInputs } from '../../src/core/plan/compile/inputs/opened-inputs.js';
import { type Cached, PlanningSession } from '../../src/core/plan/compile/inputs/session.js';
import { planRecipe } from '../../src/core/plan/compile/plan-recipe.js';
import { settle } from '../../src/core/settle/settle.js';
import { writeFamily } from '../fixtures/family.js';

describe('a planning session', () => {
  it('numbers objects by identity', () => {
    const session = new PlanningSession();
    const [a, b] = [{ name: 'same' }, { name: 'same' }];
    expect(session.idOf(a)).toBe(session.idOf(a));
    expect(session.idOf(a)).not.toBe(session.idOf(b));
  });

  it('makes a result once for each key of a kind, maps in keys included', () => {
    const session = new PlanningSession();
    const kind: Cached<object> = { most: 8 };
    const ask = (tokens: Map<string, number>, of = kind) =>
      session.remember(of, ['union', { tokens }], () => ({}));
    const first = ask(new Map([['<pad>', 0]]));
    expect(ask(new Map([['<pad>', 0]]))).toBe(first);
    expect(ask(new Map([['<pad>', 1]]))).not.toBe(first);
    expect(ask(new Map([['<pad>', 0]]), { most: 8 })).not.toBe(first);
  });

  it('keeps results that are undefined, and drops those that were used longest ago', () => {
    const session = new PlanningSession();
    const kind: Cached<undefined> = { most: 2 };
    const made: string[] = [];
    const ask = (key: string) => session.remember(kind, key, () => void made.push(key));
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) ask(key);
    expect(made).toEqual(['a', 'b', 'c', 'b']);
  });

  it('plans recipes over the same models, each with its own weights', async () => {
    const { a, b } = writeFamily({ layers: 1 });
    const weights = [0.25, 0.5, 0.25].map((weight) => [weight, 1 - weight]);
    const recipes = await Promise.all(
      weights.map((own) => settle({ method: 'linear', models: [a, b], weights: own })),
    );
    const inputs = await openInputs(...recipes);
    const first = [];
    for (const recipe of recipes) first.push((await planRecipe(recipe, {}, new Map(), inputs)).shards[0]);
    const planned = first.map((shard) => shard?.tensors[0]?.expression);
    expect(planned).toMatchObject(
      weights.map((own) => ({ kind: 'linear', terms: own.map((weight) => ({ weight })) })),
    );
    // Equal expressions of a tensor are one object.
    expect(planned[2]).toBe(planned[0]);
  });
});
