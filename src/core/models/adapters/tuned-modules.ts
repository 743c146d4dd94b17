import { LayerloomError } from '../../base/errors/errors.js';
import { isFloating } from '../../tensor/dtype.js';
import { elementsOf } from '../../tensor/reference.js';
import type { AdapterConfig } from './adapter.js';
import { mostSmall, type NamedTensor, type ParameterChange, type Tuner } from './kinds/tuner.js';

interface Part {
  readonly tuner: Tuner;
  readonly part: string;
  readonly module: string;
}

type Parts = Map<string, NamedTensor>;

/** False for the weights below an adapter, which PEFT saves for embeddings as `base_layer`. */
const isSavedWhole = (named: NamedTensor | undefined): boolean =>
  named !== undefined && !named.name.includes('.base_layer.');

const again = 'download or save the adapter again';

export class TunedModules {
  readonly #config: AdapterConfig;
  readonly #file: string;
  readonly #found = new Map<Tuner, Map<string, Parts>>();

  constructor(config: AdapterConfig, file: string) {
    this.#config = config;
    this.#file = file;
  }

  /** @throws ADAPTER_INVALID, ADAPTER_UNSUPPORTED */
  add({ tuner, part, module }: Part, named: NamedTensor): void {
    const { name, tensor } = named;
    if (!isFloating(tensor.dtype)) this.#refuse(name, `is ${tensor.dtype}`);
    if (tensor.shape.includes(0) && tuner.mayBeEmpty === undefined)
      this.#refuse(name, `has the shape [${tensor.shape.join(', ')}], as parts that were not gathered have`);
    if (tuner.mayBeLarge === undefined && elementsOf(tensor.shape) > mostSmall)
      throw new LayerloomError('ADAPTER_UNSUPPORTED', {
        file: this.#file,
        what: `tensor ${name}`,
        reason: `has more than ${mostSmall} elements ([${tensor.shape.join(', ')}])`,
      });
    const modules = this.#found.get(tuner) ?? new Map<string, Parts>();
    this.#found.set(tuner, modules);
    const parts = modules.get(module) ?? new Map<string, NamedTensor>();
    modules.set(module, parts);
    if (parts.has(part)) this.#refuse(name, 'stands twice, under two adapter names');
    parts.set(part, named);
  }

  /**
   * @param replaced tensors saved whole, to which tuners add
   * @param factors modules with LoRA factors
   * @throws ADAPTER_INVALID
   */
  read(
    replaced: Map<string, NamedTensor>,
    factors: ReadonlyMap<string, unknown>,
  ): ReadonlyMap<string, ParameterChange> {
    const changes = new Map<string, ParameterChange>();
    for (const { tuner, keys } of this.#config.tuners) {
      const modules = this.#found.get(tuner);
      if (modules === undefined)
        throw new LayerloomError('ADAPTER_INVALID', {
          file: this.#file,
          reason: `has no tensor of ${tuner.title}, which adapter_config.json names`,
          remedy: again,
        });
      const shared = modules.get('');
      for (const [module, parts] of modules) {
        if (module === '') continue;
        const own = module.replaceAll('.base_layer', '');
        const { changes: made = [], replaced: whole = [] } = tuner.read(
          {
            module: own,
            rank: this.#config.rankOf(own),
            alpha: this.#config.alphaOf(own),
            find: (part) => parts.get(part),
            need: (part) => parts.get(part) ?? this.#lacks(parts, part),
            shared: (part) => shared?.get(part) ?? this.#lacks(parts, part),
            invalid: ({ name }, reason) => this.#refuse(name, reason),
          },
          keys,
        );
        for (const change of made) {
          const { parameter, from } = change;
          const other = replaced.get(parameter);
          if (isSavedWhole(other) || changes.has(parameter) || factors.has(own))
            this.#refuse(
              from.name,
              `changes ${parameter}, which ${other?.name ?? 'another tensor'} changes too`,
            );
          changes.set(parameter, change);
        }
        for (const [parameter, named] of whole) {
          if (isSavedWhole(replaced.get(parameter)))
            this.#refuse(named.name, `replaces ${parameter}, which is saved whole too`);
          replaced.set(parameter, named);
        }
      }
    }
    return changes;
  }

  #lacks(parts: Parts, part: string): never {
    const [first] = parts.values();
    return this.#refuse(String(first?.name), `has no ${part} beside it`);
  }

  #refuse(tensor: string, reason: string): never {
    throw new LayerloomError('ADAPTER_INVALID', { file: this.#file, tensor, reason, remedy: again });
  }
}
