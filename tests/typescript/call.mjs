// Calls tools of a server on standard input and output, and prints what its client gets as JSON.
// node call.mjs VERSION CALLS COMMAND...   CALLS is a JSON array of [tool, arguments].

const clients = {
  1: ["@modelcontextprotocol/sdk/client/index.js", "@modelcontextprotocol/sdk/client/stdio.js"],
  2: ["@modelcontextprotocol/client", "@modelcontextprotocol/client/stdio"],
};

const [version, calls, command, ...args] = process.argv.slice(2);
const [clientModule, transportModule] = clients[version];
const { Client } = await import(clientModule);
const { StdioClientTransport } = await import(transportModule);

const client = new Client({ name: "failwell-tests", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
await client.listTools(); // from here on a client knows the output schemas, and checks results against them

const answers = {};
for (const [name, given] of JSON.parse(calls)) {
  try {
    answers[name] = { result: await client.callTool({ name, arguments: given }) };
  } catch (error) {
    answers[name] = { thrown: { code: error.code ?? null, message: error.message } };
  }
}
await client.close();
console.log(JSON.stringify(answers));
