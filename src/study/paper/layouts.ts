import { generalLayouts, type Layouts } from '../scores/tables.js';
import { paperLayouts } from './tables/index.js';

export const layouts: Layouts = { ...paperLayouts, ...generalLayouts };
