import { basename, resolve } from 'node:path';
import { existsIn } from '../../base/files/exists.js';
import { originOf } from '../address/found-model.js';
import { withoutExtension } from '../checkpoint/containers/containers.js';
import type { ModelSource } from './source.js';
import { remoteSources } from './sources.js';

export const localFiles: ModelSource = {
  find: async (at) => {
    const path = resolve(at);
    if (!(await existsIn('.', at))) return { tried: path };
    const descriptions = await Promise.all(remoteSources.map((source) => source.describePath(path)));
    const known = descriptions.find((one) => one !== undefined);
    return { name: known?.name ?? withoutExtension(basename(path)), path, ...originOf(known ?? {}) };
  },
};
