import { itemAt } from '../../base/errors/lookup.js';
import type { Place } from '../../models/architecture/architecture.js';
import { roleInside } from '../../models/architecture/roles.js';
import { type MixtureLayout, mixtureLayouts } from '../../models/experts/dense-layouts.js';
import { isFloating } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
import type { Expression } from '../operations/expression.js';
import type { CompileContext, Compiled, ModelView, OutputTensor, RecipePath } from './declaration/method.js';
import type { ModelInput } from './declaration/recipe-input.js';
import { invalidSetting } from './declaration/settings.js';
import { same } from './tensors/tensor-recipe.js';

export interface Expert {
  readonly model: ModelInput;
  readonly path: RecipePath;
  readonly hasPrompts: boolean;
  readonly residualScale: number;
  readonly noiseScale: number;
}

/** A mixture, with models in this order: base, experts, shared experts, file of routers (if given). */
export interface MixtureRequest {
  readonly experts: readonly Expert[];
  readonly shared: readonly Expert[];
  readonly gateMode: string;
  readonly drawn: boolean;
  readonly gates?: string | undefined;
  readonly expertsPerToken: number;
  readonly architecture?: string | undefined;
  readonly seed: number;
}

const projections = { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' } as const;

type Matrix = keyof typeof projections;

const matrices = Object.keys(projections) as readonly Matrix[];

const denseName = (layer: number, matrix: Matrix): string =>
  `model.layers.${layer}.mlp.${projections[matrix]}.weight`;

/** @throws INVALID_PARAMETER if no family can hold the models */
export const compileMixture = (request: MixtureRequest, { models }: CompileContext): Compiled => {
  const base = itemAt(models, 0);
  const { experts, shared, expertsPerToken, seed } = request;
  const all = [...experts, ...shared];
  const layout = layoutFor(request, models);
  checkDense(base, ['base'], base);
  for (const [index, { path }] of all.entries()) checkDense(itemAt(models, 1 + index), path, base);
  const [, hidden = 0] = shapeOf(base, denseName(0, 'gate'));
  const outputs = new Map<string, { readonly output: OutputTensor; readonly expression: Expression }>();
  const add = (layer: number, module: string, made: Made): void => {
    const name = `model.layers.${layer}.${module}`;
    const place: Place = { layer, role: roleInside(undefined, module), module };
    const { like, shape, expression } = made;
    outputs.set(name, {
      output: { name, like: { model: 0, tensor: like }, place, ...(shape === undefined ? {} : { shape }) },
      expression: expression(name),
    });
  };

  for (const [name, place] of base.places) {
    if (place.role === 'buffer' || isOfMlp(name)) continue;
    if (!layout.holds.test(name))
      throw invalidSetting(
        ['base'],
        base.name,
        `a model without ${name}, for which ${layout.title} has no place; ${remedyFor(layout)}`,
      );
    outputs.set(name, {
      output: { name, like: { model: 0, tensor: name }, place },
      expression: { kind: 'copy', source: { model: 0 } },
    });
  }
  const routers = routersOf(request, models, layout, hidden);
  for (let layer = 0; layer < base.layers; layer += 1) {
    for (const [index, expert] of all.entries()) {
      const isShared = index >= experts.length;
      const block = isShared ? `mlp.${layout.shared?.block}` : `${layout.block}.experts.${index}`;
      for (const matrix of matrices) {
        const tensor = denseName(layer, matrix);
        const name = (isShared ? projections : layout.matrices)[matrix];
        add(layer, `${block}.${name}.weight`, {
          like: tensor,
          expression: (output) =>
            expertExpression(expert, { model: 1 + index, tensor }, matrix === 'down', `${seed}/${output}`),
        });
      }
    }
    for (const [module, router] of routers) add(layer, module, router(layer));
    for (const projection of layout.biases) {
      const weight = `model.layers.${layer}.${projection}.weight`;
      if (base.places.has(`model.layers.${layer}.${projection}.bias`)) continue;
      const [rows = 0] = shapeOf(base, weight);
      add(layer, `${projection}.bias`, { like: weight, shape: [rows], expression: () => zeros });
    }
  }
  const isOne = experts.every(({ model, noiseScale }) => same(model, experts[0]?.model) && noiseScale === 0);
  return {
    resolved: resolvedOf(request, layout),
    outputs: [...outputs.values()].map(({ output }) => output),
    expressionOf: (_, tensor) => {
      const found = outputs.get(tensor);
      if (found === undefined) throw new Error(`a mixture has no tensor ${tensor}`);
      return found.expression;
    },
    configEdits: layout.config(base.config ?? {}, {
      experts: experts.length,
      perToken: expertsPerToken,
      shared: shared.length,
      layers: base.layers,
    }),
    mixture: { family: layout.family, form: layout.form },
    warnings:
      isOne && experts.length > 1
        ? ['all experts are one model: the mixture computes what that does, until it is trained']
        : [],
  };
};

interface Made {
  readonly like: string;
  readonly shape?: Shape;
  readonly expression: (output: string) => Expression;
}

const zeros: Expression = { kind: 'random', distribution: 'normal', scale: 0, seed: '', onto: null };

const isOfMlp = (name: string): boolean => name.includes('.mlp.');

const shapeOf = ({ tensors }: ModelView, name: string): Shape => tensors.get(name)?.shape ?? [];

const expertExpression = (
  { residualScale, noiseScale }: Expert,
  source: { readonly model: number; readonly tensor: string },
  isDown: boolean,
  seed: string,
): Expression => {
  const weight = isDown ? residualScale : 1;
  if (noiseScale !== 0)
    return {
      ...{ kind: 'random', distribution: 'normal', scale: noiseScale * weight, seed },
      onto: { source, weight },
    };
  return weight === 1 ? { kind: 'copy', source } : { kind: 'linear', terms: [{ source, weight }] };
};

const routersOf = (
  { experts, shared, drawn, gateMode, gates, seed }: MixtureRequest,
  models: readonly ModelView[],
  layout: MixtureLayout,
  hidden: number,
): readonly (readonly [module: string, router: (layer: number) => Made])[] => {
  const own = shared.length > 0 ? layout.shared?.router : undefined;
  const wanted = [
    { name: 'gate', block: layout.block, rows: experts.length },
    ...(own === undefined || own === null ? [] : [{ name: own, block: 'mlp', rows: 1 }]),
  ];
  return wanted.map(({ name, block, rows }) => [
    `${block}.${name}.weight`,
    (layer) => {
      const shape = [rows, hidden];
      const inFile = `model.layers.${layer}.mlp.${name}.weight`;
      const like = denseName(layer, 'gate');
      if (!drawn) checkRouter(itemAt(models, models.length - 1), inFile, shape, gates);
      const [distribution, scale] =
        gateMode === 'random' ? (['normal', 1] as const) : (['uniform', Math.sqrt(1 / hidden)] as const);
      return {
        like,
        shape,
        expression: (output) =>
          drawn
            ? { kind: 'random', distribution, scale, seed: `${seed}/${output}`, onto: null }
            : { kind: 'copy', source: { model: models.length - 1, tensor: inFile } },
      };
    },
  ]);
};

const checkRouter = ({ tensors }: ModelView, name: string, shape: Shape, file: unknown): void => {
  const found = tensors.get(name);
  if (found !== undefined && found.shape.join() === shape.join() && isFloating(found.dtype)) return;
  const has = found === undefined ? 'lacks it' : `has ${found.dtype} [${found.shape.join(', ')}]`;
  throw invalidSetting(
    ['gates'],
    file,
    `a file with ${name} [${shape.join(', ')}] in a floating dtype, and this ${has}; make it of this recipe`,
  );
};

/** Checks that each layer has an MLP of three matrices without biases, with the base's activation. */
const checkDense = ({ name, tensors, config }: ModelView, path: RecipePath, base: ModelView): void => {
  const wanted = new Set(
    Array.from({ length: base.layers }, (_, layer) =>
      matrices.map((matrix) => denseName(layer, matrix)),
    ).flat(),
  );
  const other = [...tensors.keys()].find((tensor) => isOfMlp(tensor) && !wanted.has(tensor));
  if (other !== undefined)
    throw invalidSetting(
      path,
      name,
      `a dense model of ${base.layers} layers with gate_proj, up_proj and down_proj alone, and this has ${other}`,
    );
  const missing = [...wanted].find((tensor) => !tensors.has(tensor));
  if (missing !== undefined)
    throw invalidSetting(path, name, `a dense model of ${base.layers} layers, and this lacks ${missing}`);
  const [own, common] = [config?.['hidden_act'] ?? 'silu', base.config?.['hidden_act'] ?? 'silu'];
  if (own !== common)
    throw invalidSetting(path, name, `a model with the base's hidden_act, ${common}, and this has ${own}`);
};

/**
 * Returns the family that a recipe names, or the first that can hold its models.
 *
 * @throws INVALID_PARAMETER with a reason per family
 */
const layoutFor = (request: MixtureRequest, models: readonly ModelView[]): MixtureLayout => {
  const { architecture, experts, shared } = request;
  const base = itemAt(models, 0);
  const type = base.config?.['model_type'];
  for (const [index, { path }] of [...experts, ...shared].entries()) {
    const { name, config } = itemAt(models, 1 + index);
    if (config?.['model_type'] !== type)
      throw invalidSetting(
        path,
        name,
        `a model of the base's model_type, ${String(type)}, and this is ${String(config?.['model_type'])}`,
      );
  }
  const named = mixtureLayouts.filter(({ title }) =>
    title.toLowerCase().startsWith((architecture ?? '').toLowerCase()),
  );
  const titles = mixtureLayouts.map(({ title }) => title).join(', ');
  if (named.length === 0)
    throw invalidSetting(['architecture'], architecture, `the beginning of one of ${titles}`);
  const tried = named.map((layout) => ({ layout, reason: refusalOf(layout, request, String(type)) }));
  const found = tried.find(({ reason }) => reason === undefined);
  if (found !== undefined) return found.layout;
  const reasons = tried.map(({ layout, reason }) => `${layout.title} ${reason}`).join('; ');
  throw invalidSetting(
    [architecture === undefined ? 'base' : 'architecture'],
    architecture ?? base.name,
    `models that a family of mixtures can hold: ${reasons}`,
  );
};

/** Returns why a family cannot hold the mixture, in words that follow its name; undefined if the family can. */
const refusalOf = (
  layout: MixtureLayout,
  { shared, drawn, gateMode }: MixtureRequest,
  type: string,
): string | undefined => {
  const [one] = shared;
  if (!layout.dense.includes(type)) return `is made of ${layout.dense.join(', ')}, and these are ${type}`;
  if (layout.shared === null) return one === undefined ? undefined : 'has no shared expert: leave it out';
  if (layout.shared.router === null)
    return one?.hasPrompts
      ? 'routes every token to its shared expert: leave out the prompts of that'
      : undefined;
  if (one === undefined) return 'needs a shared expert: name one under shared_experts';
  return drawn || one.hasPrompts
    ? undefined
    : `has a router for its shared expert: give that positive_prompts, which gate_mode ${gateMode} needs`;
};

const remedyFor = ({ family }: MixtureLayout): string => {
  const others = mixtureLayouts.filter((other) => other.family !== family).map(({ title }) => title);
  return `try another architecture (${others.join(', ')}), or merge models of another base`;
};

const resolvedOf = (
  { gateMode, expertsPerToken, seed, drawn, experts, shared }: MixtureRequest,
  { title }: MixtureLayout,
): Record<string, unknown> => ({
  architecture: title,
  experts: experts.length,
  experts_per_token: expertsPerToken,
  ...(shared.length === 0 ? {} : { shared_experts: shared.length }),
  gate_mode: gateMode,
  ...(drawn || [...experts, ...shared].some(({ noiseScale }) => noiseScale !== 0) ? { seed } : {}),
});
