import { createConnection } from 'node:net';
import { networkInterfaces } from 'node:os';

// Finds out who can reach a server, because anybody who can may replace its weights.

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/;

export const isOfThisMachine = (host: string): boolean => loopback.test(host);

/** Time limit for a connection to this machine, in milliseconds. */
const mostWait = 1000;

const accepts = (host: string, port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ host, port, timeout: mostWait });
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });

export const outerAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((all = []) =>
    all.filter(({ internal, scopeid = 0 }) => !internal && scopeid === 0).map(({ address }) => address),
  );

/** Returns an address by which other machines can reach a server; else undefined. Ignores firewalls. */
export const reachedBy = async (url: string): Promise<string | undefined> => {
  const { hostname, port, protocol } = new URL(url);
  if (!isOfThisMachine(hostname)) return hostname;
  const at = Number(port || (protocol === 'https:' ? 443 : 80));
  const outer = outerAddresses();
  const open = await Promise.all(outer.map((address) => accepts(address, at)));
  return outer.find((_, index) => open[index]);
};
