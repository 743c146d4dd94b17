import type { Adapter } from '../../../core/models/adapters/adapter.js';
import { parseAddress } from '../../../core/models/address/address.js';
import type { CheckpointIndex } from '../../../core/models/checkpoint/checkpoint.js';
import { readGivenConfig } from '../../../core/models/reading/given-config.js';
import { readAdapter, readModel } from '../../../core/models/reading/read-model.js';
import { bringModels } from '../../../core/models/sources/bring-models.js';
import type { OutputOptions } from '../../options/output.js';
import { printJson, printLine, warn } from '../../print.js';
import type { InspectedCheckpoint } from '../../printed.js';
import { describeCheckpoint, summariseCheckpoint } from '../../text/models/inspect.js';
import { type AdapterSummary, describeAdapter, summariseAdapter } from '../../text/models/inspect-adapter.js';

interface InspectCommandOptions extends OutputOptions {
  readonly model: string;
  readonly config?: string;
  readonly download?: boolean;
}

export const inspectCommand = async (options: InspectCommandOptions): Promise<void> => {
  const { model, config, json, quiet, download } = options;
  const fetched = await bringModels([model], { download: download && 'headers' });
  if (!quiet) fetched.forEach(warn);
  const { checkpoint, adapter } = await openForInspection(model, config);
  const summary = checkpoint === undefined ? undefined : summariseCheckpoint(checkpoint);
  const ofAdapter = adapter === undefined ? undefined : summariseAdapter(adapter);
  const printed: InspectedCheckpoint | AdapterSummary | undefined =
    summary === undefined ? ofAdapter : { ...summary, ...(ofAdapter && { adapter: ofAdapter }) };
  if (json) printJson(printed);
  else if (!quiet) {
    summary?.warnings.forEach(warn);
    const texts = [summary && describeCheckpoint(summary), ofAdapter && describeAdapter(ofAdapter)];
    printLine(texts.filter((text) => text !== undefined).join('\n\n'));
  }
};

const openForInspection = async (
  model: string,
  config: string | undefined,
): Promise<{ readonly checkpoint?: CheckpointIndex; readonly adapter?: Adapter }> => {
  const address = await parseAddress(model);
  const { checkpoint, adapter } = await readModel(address, await readGivenConfig(config));
  if (adapter !== undefined) return { adapter };
  return {
    checkpoint,
    ...(address.kind === 'adapted' && { adapter: await readAdapter(address.adapter) }),
  };
};
