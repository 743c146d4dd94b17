import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { matches } from '../../../../core/methods/framework/match-names.js';
import { ContentsReader, type ModelContents } from '../../../evaluation/model-contents.js';
import { type Load, LoadingOrder } from '../../../evaluation/servers/loading-order.js';
import type { ContentsInPlace } from '../../in-place/contents-in-place.js';
import type { ExperimentRecord } from '../../record/experiment-record.js';
import { type ModelToScore, pathOf } from '../requests/models-to-score.js';

/** Chosen model; `load` is undefined if unknown. */
export interface Taken {
  readonly model: ModelToScore;
  readonly load: Load | undefined;
}

/** Chooses the next model for each lane. A lane is a program that holds one model at a time. */
export class ScoringOrder {
  readonly #first: readonly string[];
  readonly #loading = new LoadingOrder();
  readonly #reader = new ContentsReader();
  readonly #known = new Set<string>();
  readonly #former = new Map<number, string | undefined>();
  readonly isExchanging: boolean;
  readonly #inPlace: ContentsInPlace | undefined;
  #learning: Promise<void> = Promise.resolve();

  /** @param isExchanging false keeps the record's order @param inPlace contents of unwritten merges */
  constructor(
    { first = [] }: Pick<ExperimentRecord, 'first'>,
    isExchanging: boolean,
    inPlace?: ContentsInPlace,
  ) {
    this.#first = first;
    this.isExchanging = isExchanging;
    this.#inPlace = inPlace;
  }

  learn(models: readonly ModelToScore[]): Promise<void> {
    // Runs calls one after another, so that lanes do not read the same contents twice.
    this.#learning = this.#learning.then(() => this.#learn(models));
    return this.#learning;
  }

  async #learn(models: readonly ModelToScore[]): Promise<void> {
    const unknown = this.isExchanging ? models.filter(({ name }) => !this.#known.has(name)) : [];
    for (const { name } of unknown) this.#known.add(name);
    // References come first, because merges are compared with them.
    for (const kind of ['reference', 'merge'] as const)
      await Promise.all(unknown.filter((model) => model.kind === kind).map((model) => this.#add(model)));
  }

  async #add(model: ModelToScore): Promise<void> {
    const contents = await this.#contentsOf(model).catch((error: unknown) => {
      // The scoring of the model reports the error.
      if (error instanceof LayerloomError) return undefined;
      throw error;
    });
    if (contents !== undefined) this.#loading.add(model.name, contents);
  }

  async #contentsOf(model: ModelToScore): Promise<ModelContents | undefined> {
    return model.kind === 'merge'
      ? ((await this.#reader.ofMerge(model.model)) ?? (await this.#inPlace?.(model.name)))
      : await this.#reader.ofModel(await pathOf(model));
  }

  /** Returns the most urgent models: references, then those that the batch was told to finish first. */
  mostUrgent(models: readonly ModelToScore[]): ModelToScore[] {
    let urgency = Number.POSITIVE_INFINITY;
    let urgent: ModelToScore[] = [];
    for (const model of models) {
      const own = this.#urgencyOf(model);
      if (own < urgency) [urgency, urgent] = [own, []];
      if (own === urgency) urgent.push(model);
    }
    return urgent;
  }

  /** Gives the lane the first of the models with the fewest bytes to load. */
  take(lane: number, models: readonly ModelToScore[]): Taken | undefined {
    const model = this.#loading.nextOf(lane, models);
    if (model === undefined) return undefined;
    const load = this.#loading.loadOf(lane, model.name);
    this.#former.set(lane, this.#loading.heldBy(lane));
    this.#loading.hold(lane, model.name);
    return { model, load };
  }

  /** Call this if the lane did not load the chosen model. */
  putBack(lane: number): void {
    this.#loading.hold(lane, this.#former.get(lane));
  }

  #urgencyOf({ name, kind }: ModelToScore): number {
    if (kind === 'reference') return -1;
    const index = this.#first.findIndex((pattern) => matches(name, pattern));
    return index === -1 ? this.#first.length : index;
  }
}
