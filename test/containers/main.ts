import { parseArgs } from 'node:util'
import { Fleet } from './fleet.js'
import { Host, StepFailed } from './host.js'
import { build, exists, fileHashes, IMAGES, ownImage, sizeOf, standIns } from './images.js'

/**
 * `npm run containers`: builds the image and runs compose.yaml with podman, on a bare Debian machine. Three workers crawl the demo shop, one of them is
 * killed; the shop's access log and Postgres say whether all is well. With `--reuse` four minutes on two busy cores; building takes another eight.
 */
const { values } = parseArgs({
  options: {
    /** Builds both variants; `--no-chromium` leaves out the larger one. */
    'no-chromium': { type: 'boolean', default: false },
    /** Uses the images of the last run as they are, whatever changed since then. */
    reuse: { type: 'boolean', default: false },
    /** Builds a second time without any cache, and compares every file. */
    twice: { type: 'boolean', default: false },
  },
})

const host = new Host()
const fleet = new Fleet(host)
let endApi = () => {}
let failed = false

async function step(name: string, work: () => Promise<string>): Promise<void> {
  const started = performance.now()
  try {
    const said = await work()
    console.log(`${seconds(started)}  ${name.padEnd(28)} ${said}`)
  } catch (error) {
    console.log(`${seconds(started)}  ${name.padEnd(28)} FAILED`)
    throw error
  }
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1).padStart(7)} s`
}

async function everything(): Promise<void> {
  await step('programs', () => host.installTools())
  await step('stand-ins for base images', () => standIns(host))
  await step('image shoal', () => built(IMAGES.shoal, null))
  if (!values['no-chromium']) await step('image shoal, chromium', () => built(IMAGES.chromium, 'chromium'))
  await step('image of your own', () => ownImage(host))
  if (values.twice) await step('built again, compared', rebuilt)
  endApi = await host.serveApi()
  await step('secrets', () => fleet.createSecrets())
  await step('compose config', async () => {
    await fleet.compose('config', '-q')
    return 'valid'
  })
  await step('compose up', () => fleet.up(3))
  await step('ports', () => fleet.ports())
  let crawl = ''
  await step('crawl started', async () => {
    crawl = await fleet.startCrawl()
    return crawl
  })
  await step('a worker killed (SIGKILL)', () => fleet.killWorker())
  await step('crawl finished', () => fleet.finish(crawl))
  await step('judged by shop and Postgres', () => fleet.judge()).catch(report)
  await step('first process', () => fleet.firstProcess())
  await step('compose stop', () => fleet.stop())
}

/** A wrong record or a broken pace does not hide how the containers end. */
function report(error: unknown): void {
  failed = true
  console.error(`\n${error instanceof StepFailed ? error.message : (error as Error).stack}`)
}

async function built(image: string, target: string | null): Promise<string> {
  if (!values.reuse || !(await exists(host, image))) await build(host, image, target)
  return sizeOf(host, image)
}

async function rebuilt(): Promise<string> {
  const again = `${IMAGES.shoal}-again`
  await build(host, again, null, false)
  const [first, second] = [await fileHashes(host, IMAGES.shoal), await fileHashes(host, again)]
  await host.run('buildah', ['rmi', again])
  const differ = [...new Set([...first.keys(), ...second.keys()])].filter(
    (path) => first.get(path) !== second.get(path),
  )
  if (differ.length > 0) throw new StepFailed(`${differ.length} files differ:\n${differ.slice(0, 20).join('\n')}`)
  return `${first.size} files, all the same`
}

async function cleanUp(): Promise<void> {
  await fleet.remove()
  endApi()
}

for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.on(signal, () => {
    console.log('\nremoving the containers …')
    void cleanUp().finally(() => process.exit(code))
  })

const started = performance.now()
console.log(
  'The base images (node, redis, postgres) are stand-ins made of Debian packages, under the names of the official ones.\n',
)
try {
  await everything()
} catch (error) {
  report(error)
} finally {
  await step('removed', async () => {
    await cleanUp()
    return 'containers, volumes and network; images stay in the cache'
  }).catch(() => {})
}
console.log(`\n${failed ? 'FAILED' : 'passed'} after ${seconds(started).trim()}`)
process.exit(failed ? 1 : 0)
