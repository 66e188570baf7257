import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Everything on this machine that the run creates begins with these letters, and is removed by them. */
const PREFIX = 'shk'
const BRIDGE = 'shkbr0'

/** Of the bridge: API server, etcd, Redis, Postgres and the metrics adapter listen here. Not loopback: the API server refuses endpoints there. */
export const HOST_ADDRESS = '10.87.0.1'
/** Virtual addresses of Services. Nobody routes them here: pods find Services by name. */
export const SERVICE_RANGE = '10.88.0.0/24'

/** Addresses of the site's hosts. */
export function siteAddress(index: number): string {
  return `10.87.1.${index + 1}`
}

function podAddress(index: number): string {
  return `10.87.${2 + Math.floor(index / 250)}.${1 + (index % 250)}`
}

export interface PodNetwork {
  readonly namespace: string
  readonly address: string
}

export async function createNetwork(siteHosts: number): Promise<void> {
  await removeNetwork()
  const addresses = Array.from(
    { length: siteHosts },
    (_, index) => `ip addr add ${siteAddress(index)}/32 dev ${BRIDGE}`,
  )
  await shell(
    // Without an address of its own, a bridge has the lowest of its ports. When a pod went, that changed, and the others could connect to nothing for a minute.
    `ip link add ${BRIDGE} address 02:87:00:00:00:01 type bridge`,
    `ip addr add ${HOST_ADDRESS}/16 dev ${BRIDGE}`,
    `ip link set ${BRIDGE} up`,
    ...addresses,
  )
}

/** Also what an earlier run left behind that was killed. */
export async function removeNetwork(): Promise<void> {
  await shell(
    `for ns in $(ip netns list 2>/dev/null | cut -d' ' -f1 | grep '^${PREFIX}-'); do ip netns del "$ns"; done`,
    `ip link del ${BRIDGE} 2>/dev/null || true`,
  )
}

export async function createPodNetwork(index: number): Promise<PodNetwork> {
  const namespace = `${PREFIX}-${index}`
  const address = podAddress(index)
  const link = `${PREFIX}v${index}`
  await shell(
    `ip netns add ${namespace}`,
    `ip link add ${link} type veth peer name eth0 netns ${namespace}`,
    `ip link set ${link} master ${BRIDGE} up`,
    `ip -n ${namespace} addr add ${address}/16 dev eth0`,
    `ip -n ${namespace} link set eth0 up`,
    `ip -n ${namespace} link set lo up`,
  )
  return { namespace, address }
}

export async function removePodNetwork({ namespace }: PodNetwork): Promise<void> {
  await shell(`ip netns del ${namespace} 2>/dev/null || true`)
}

async function shell(...lines: readonly string[]): Promise<void> {
  await run('sh', ['-ec', lines.join('\n')])
}
