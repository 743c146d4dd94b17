import { generalLayouts, type Layouts } from '../scores/tables.js';
import { paperLayouts } from './tables/index.js';

/** Every table that there is, in the order in which tables are given. */
export const layouts: Layouts = { ...paperLayouts, ...generalLayouts };
