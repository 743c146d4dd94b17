// JSX as calls of `h`: shorter than the automatic runtime's objects.
export { Fragment, h } from 'preact';
