// A TypeScript client drives the server through cases.json and its resources: node drive.mjs CLIENT MODE SERVER BASE
// CLIENT is v1 (@modelcontextprotocol/sdk) or v2 (@modelcontextprotocol/client); MODE is legacy, auto or pinned (v2).
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

const [which, mode, server, base] = process.argv.slice(2);
const ws = `${base}/ws`;
const fill = text => JSON.parse(text.replaceAll('$WS2', `${base}/ws2`).replaceAll('$WS', ws));
const cases = fill(await readFile(new URL('cases.json', import.meta.url), 'utf8'));

async function connect() {
  const info = { name: 'client-test', version: '1' };
  const launch = { command: server, args: [ws, `${base}/ws2`], stderr: 'inherit' };
  if (which === 'v1') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
    const client = new Client(info);
    await client.connect(new StdioClientTransport(launch));
    return client;
  }
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const negotiation = { legacy: 'legacy', auto: 'auto', pinned: { pin: '2026-07-28' } }[mode];
  const client = new Client(info, { versionNegotiation: { mode: negotiation } });
  await client.connect(new StdioClientTransport(launch));
  return client;
}

const client = await connect();
const { tools } = await client.listTools();
const used = new Set(cases.map(row => row.tool));
for (const tool of tools) assert(used.has(tool.name), `no case for ${tool.name}`);

// Resources: what there is, and that what is not there is known for that: by its code, or in the newer client by its class.
const { resources } = await client.listResources();
assert.deepEqual(resources.map(root => root.uri), ['root://ws/', 'root://ws2/']);
const { resourceTemplates } = await client.listResourceTemplates();
assert.deepEqual(resourceTemplates.map(template => template.uriTemplate), ['root://{name}/{+path}']);
const read = async uri => (await client.readResource({ uri })).contents;
const text = { uri: 'root://ws/sub/%C3%9Cbersicht%20%E9%9F%B3.md', mimeType: 'text/markdown', text: 'text\n' };
assert.deepEqual(await read(text.uri), [text]);
const blob = { uri: 'root://ws/pixel.png', mimeType: 'image/png', blob: 'iVBORw0KGgo=' };
assert.deepEqual(await read(blob.uri), [blob]);
assert.equal((await read('root://ws/sub/'))[0].text, `${text.uri}\n`);
const notFound = error => (which === 'v1' ? error.code === -32002 : error.constructor.name === 'ResourceNotFoundError');
for (const uri of ['root://ws/missing', 'root://ws/out/secret.txt', `file://${ws}/notes.txt`]) {
  await assert.rejects(read(uri), notFound, uri);
}

for (const { tool, arguments: args, ...want } of cases) {
  const said = `${tool} ${JSON.stringify(args)}`;
  // The client checks structuredContent against the declared output schema by itself, and throws where it does not fit.
  const answer = await client.callTool({ name: tool, arguments: args });
  const text = answer.content[0]?.text;
  if (want.code) {
    assert.equal(answer.isError, true, said);
    assert.equal(answer._meta?.['cap-roots/code'], want.code, said);
    assert(text.startsWith(`${want.code}: `), `${said}: ${text}`);
    assert(!JSON.stringify(answer).includes('SECRET'), said);
    continue;
  }
  assert(!answer.isError, `${said}: ${text}`);
  if (want.content) {
    assert.deepEqual(answer.content, want.content, said);
    assert.deepEqual(answer.structuredContent.content, want.content, said);
  } else {
    if (want.start) assert(text.startsWith(want.start), `${said}: ${text}`);
    else assert.equal(text, want.text, said);
    // A notice is a block of its own, for programs in _meta, and the last line of the structured form where that is no file and no tree.
    const block = answer.content[1]?.text;
    assert.equal(answer._meta?.['cap-roots/notice'], block?.slice(1, -1), said);
    const exact = ['read_file', 'read_text_file', 'directory_tree'].includes(tool);
    const notice = block && !exact ? `\n${block}` : '';
    assert.equal(answer.structuredContent.content, text + notice, said);
  }
}
await client.close();
console.log(`${which} ${mode}: ${cases.length} calls, ${tools.length} tools`);
