import { once } from 'node:events';
import { createServer } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { request } from 'undici';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openConnections } from '../../src/core/models/sources/hub/requests/session/proxy.js';

it('closes also a connection that failed before, and was then made for a request that waited', async () => {
  const server = createServer((_, response) => response.end('here'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const original = net.connect;
  const connect = vi
    .spyOn(net, 'connect')
    .mockImplementationOnce(((options: net.NetConnectOpts) =>
      original({ ...options, port: 1 })) as typeof net.connect);
  onTestFinished(() => connect.mockRestore());
  const limits = { headersTimeout: 5000, bodyTimeout: 5000, connect: { timeout: 5000 }, connections: 1 };
  const connections = openConnections({}, limits);
  const ask = async () => (await request(url, { dispatcher: connections.for(url) })).body.text();
  const [first, second] = await Promise.allSettled([ask(), ask()]);
  expect(first.status).toBe('rejected');
  expect(second).toMatchObject({ status: 'fulfilled', value: 'here' });
  await connections.close();
  await expect
    .poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count))))
    .toBe(0);
});
