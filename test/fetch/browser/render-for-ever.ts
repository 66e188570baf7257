import { newBrowser, rendered, startSite } from './support.js'

/** A process in the middle of rendering, for a test that kills it. */
const site = await startSite({ '/': '<script>fetch("/never")</script>', '/never': () => console.log('rendering') })
await rendered(
  newBrowser(),
  `${site.origin}/`,
  { totalMs: 60_000 },
  { render: { wait: 60_000, settleMs: 0, images: false } },
)
