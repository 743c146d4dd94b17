/**
 * How much of models of the hub is fetched: nothing, what is needed, or headers and small files alone, as a dry
 * run does.
 */
export type Download = boolean | 'headers';
