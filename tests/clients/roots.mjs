// A TypeScript client changes its roots while calls run: node roots.mjs CLIENT MODE SERVER BASE
// CLIENT is v1 (@modelcontextprotocol/sdk) or v2 (@modelcontextprotocol/client); MODE is legacy, auto or pinned (v2).
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';

const [which, mode, server, base] = process.argv.slice(2);
const modern = which === 'v2' && mode !== 'legacy';
const uri = name => pathToFileURL(`${base}/${name}`).href;
let roots = [];
let asked = 0;

async function connect(args) {
  const info = { name: 'client-test', version: '1' };
  const capabilities = { roots: { listChanged: true } };
  const launch = { command: server, args, stderr: 'ignore' };
  const answer = async () => {
    asked += 1;
    return { roots };
  };
  if (which === 'v1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const { ListRootsRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
    const client = new Client(info, { capabilities });
    client.setRequestHandler(ListRootsRequestSchema, answer);
    await client.connect(new StdioClientTransport(launch));
    return client;
  }
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const negotiation = { legacy: 'legacy', auto: 'auto', pinned: { pin: '2026-07-28' } }[mode];
  const client = new Client(info, { capabilities, versionNegotiation: { mode: negotiation } });
  client.setRequestHandler('roots/list', answer);
  await client.connect(new StdioClientTransport(launch));
  return client;
}

// The content of a file, or the code of the refusal.
async function read(client, path) {
  const answer = await client.callTool({ name: 'read_text_file', arguments: { path } });
  return answer.isError ? answer._meta['cap-roots/code'] : answer.content[0].text;
}

async function change(client, names) {
  roots = names.map(name => ({ uri: uri(name), name }));
  if (!modern) await client.sendRootsListChanged();
}

const client = await connect(['--client-roots', 'narrow', base]);
await change(client, ['ws']);
asked = 0;
assert.equal(await read(client, 'where.txt'), 'ws');
assert.equal(await read(client, `${base}/ws2/where.txt`), 'outside-roots');
assert.equal(await read(client, 'sub/../where.txt'), 'ws');
assert.equal(asked, modern ? 3 : 1, 'once a connection, or in each call');

// Calls before, across and behind a change: none that was sent behind it gets what was withdrawn.
for (let round = 0; round < 10; round += 1) {
  await change(client, ['ws']);
  const before = Array.from({ length: 8 }, () => read(client, 'where.txt'));
  await change(client, ['ws2']);
  const behind = Array.from({ length: 8 }, () => read(client, 'where.txt'));
  for (const got of await Promise.all(before)) assert(['ws', 'ws2', 'cancelled', 'no-roots'].includes(got), got);
  for (const got of await Promise.all(behind)) assert.equal(got, 'ws2');
}
for (const wider of [[], ['outside'], ['nothing']]) {
  await change(client, wider);
  assert.equal(await read(client, 'where.txt'), wider[0] === 'outside' ? 'outside' : 'no-roots');
}
await client.close();

// More than was granted adds nothing.
const narrow = await connect(['--client-roots', 'narrow', `${base}/ws`]);
for (const [wider, want] of [['', 'ws'], ['ws2', 'no-roots'], ['outside', 'no-roots'], ['ws/out', 'no-roots'], ['ws', 'ws']]) {
  await change(narrow, [wider]);
  assert.equal(await read(narrow, `${base}/ws/where.txt`), want, wider);
  assert(['outside-roots', 'no-roots'].includes(await read(narrow, `${base}/ws2/where.txt`)));
}
await narrow.close();

// By default nobody is asked.
asked = 0;
const off = await connect([`${base}/ws2`]);
await change(off, ['ws']);
assert.equal(await read(off, 'where.txt'), 'ws2');
assert.equal(asked, 0);
await off.close();
console.log(`${which} ${mode}: roots that change`);
