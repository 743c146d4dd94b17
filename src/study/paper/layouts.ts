import { generalLayouts, type Layouts } from '../scores/tables.js';
import { paperLayouts } from './tables/index.js';

/** All tables, in output order. */
export const layouts: Layouts = { ...paperLayouts, ...generalLayouts };
