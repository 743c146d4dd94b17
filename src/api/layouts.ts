import { paperLayouts } from '../paper/tables/index.js';
import { generalLayouts, type Layouts } from '../scores/tables.js';

/** Every table that there is, in the order in which tables are given. */
export const layouts: Layouts = { ...paperLayouts, ...generalLayouts };
