// The input buffer: each chunk of input, and what must come out immediately.
export async function run(table, { StdinBuffer }) {
  return table.cases.map(({ opts, steps }) => {
    const buffer = new StdinBuffer(opts);
    const found = [];
    buffer.on("data", (out) => found.push({ out }));
    buffer.on("paste", (paste) => found.push({ paste }));
    const wanted = [];
    for (const step of steps) {
      if (step.in !== undefined) buffer.process(step.in);
      if (step.out !== undefined) wanted.push({ out: step.out });
      if (step.paste !== undefined) wanted.push({ paste: step.paste });
      if (step.flush !== undefined) {
        wanted.push({ flush: step.flush });
        found.push({ flush: buffer.flush() });
      }
    }
    buffer.destroy();
    const pass = JSON.stringify(found) === JSON.stringify(wanted);
    return { id: JSON.stringify({ opts, steps }), tier: "A", pass, detail: `${JSON.stringify(found)}, not ${JSON.stringify(wanted)}` };
  });
}
