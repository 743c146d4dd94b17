import { createHash, randomUUID } from 'node:crypto';
import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { exists } from '../../../core/base/files/exists.js';
import { writeFailed } from '../../../core/base/files/writing.js';
import { type ModelAddress, parseAddress } from '../../../core/models/address/address.js';
import type { CheckpointIndex } from '../../../core/models/checkpoint/checkpoint.js';
import { withoutKey } from '../../../core/models/checkpoint/config/config.js';
import { findWeights, writer } from '../../../core/models/checkpoint/containers/containers.js';
import { configName } from '../../../core/models/checkpoint/files/file-names.js';
import { readSideFile } from '../../../core/models/checkpoint/files/small-file.js';
import { refuseUnlikeLoaders } from '../../../core/models/reading/as-loaded.js';
import { isBareAdapter, readAdapter, readWhole } from '../../../core/models/reading/read-model.js';
import { baseOf } from '../../../core/plan/compile/adapters/named-base.js';

/**
 * Returns the absolute path that programs should load, or `BASE+ADAPTER`. If a model is named by a file,
 * makes a directory of links to its files, because programs would also read the other files of its folder.
 *
 * @param views parent of such directories, kept between runs
 * @throws NOT_AS_LOADED; WRITE_FAILED; the codes of `readModel`
 */
export const pathToLoad = async (model: string, views: string): Promise<string> =>
  placeToLoad(await parseAddress(model), views);

const placeToLoad = async (address: ModelAddress, views: string): Promise<string> => {
  if (address.kind === 'adapted')
    return `${await placeToLoad(address.base, views)}+${await adapterFolder(address.adapter)}`;
  if (await isBareAdapter(address)) {
    const base = await placeToLoad(await parseAddress(await baseOf(address)), views);
    return `${base}+${await adapterFolder(address)}`;
  }
  const checkpoint = await readWhole(address);
  refuseUnlikeLoaders(checkpoint, 'evaluate');
  return checkpoint.folder === undefined
    ? checkpoint.path
    : await viewOf(checkpoint, checkpoint.folder, views);
};

const adapterFolder = async (adapter: ModelAddress): Promise<string> => {
  const { path, folder = path } = (await readAdapter(adapter)).checkpoint;
  return folder;
};

const viewOf = async (checkpoint: CheckpointIndex, folder: string, views: string): Promise<string> => {
  const { path, files, sideFiles, carried } = checkpoint;
  const key = createHash('sha256')
    .update(JSON.stringify([path, files, sideFiles]))
    .digest('hex')
    .slice(0, 32);
  const view = join(views, key);
  if (await exists(view)) return view;
  const staging = join(views, `.${key}-${randomUUID()}`);
  const names = files.map((file) => relative(folder, file.path));
  const isIndex = !files.some((file) => file.path === path);
  try {
    await mkdir(staging, { recursive: true });
    const links = [
      ...names.map(
        (name) => [isIndex || findWeights([name]) !== undefined ? name : singleName(name), name] as const,
      ),
      ...(isIndex ? [[basename(path), basename(path)] as const] : []),
      ...sideFiles.filter((name) => carried?.has(name) !== true).map((name) => [name, name] as const),
    ];
    for (const [name, target] of links) {
      await mkdir(dirname(join(staging, name)), { recursive: true });
      if (name === configName) await writeFile(join(staging, name), await configFor(join(folder, target)));
      else await symlink(join(folder, target), join(staging, name));
    }
    await rename(staging, view);
  } catch (cause) {
    await rm(staging, { recursive: true, force: true });
    // Another process made it meanwhile.
    if (await exists(view)) return view;
    throw writeFailed(view, cause);
  }
  return view;
};

const singleName = (name: string): string =>
  name.endsWith(writer.extension) ? writer.shardName(0, 1) : 'pytorch_model.bin';

/** Removes a key of `config.json` that names another weights file. */
const configFor = async (file: string): Promise<string> =>
  withoutKey((await readSideFile(file)).toString(), 'transformers_weights');
