// JSX as calls of `h`, whose arguments are shorter than the object that the automatic runtime passes.
export { Fragment, h } from 'preact';
