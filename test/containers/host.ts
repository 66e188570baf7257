import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** A step that failed, with what to do about it: printed without a stack. */
export class StepFailed extends Error {}

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'shoal', 'containers')

/** Debian's package for each program. */
const PROGRAMS: Readonly<Record<string, string>> = {
  buildah: 'buildah',
  podman: 'podman',
  runc: 'runc',
  debootstrap: 'debootstrap',
  'docker-compose': 'docker-compose',
  // The bridge of netavark needs it, and its package does not depend on it.
  iptables: 'iptables',
}
const LIBRARIES: Readonly<Record<string, string>> = {
  '/usr/lib/podman/netavark': 'netavark',
  '/usr/lib/podman/aardvark-dns': 'aardvark-dns',
}

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Images and containers of their own: a Docker or podman of the machine is neither used nor changed. */
export class Host {
  readonly cache = CACHE
  readonly socket = join(CACHE, 'podman.sock')
  readonly #env: NodeJS.ProcessEnv

  constructor() {
    mkdirSync(CACHE, { recursive: true })
    const containers = join(CACHE, 'containers.conf')
    const storage = join(CACHE, 'storage.conf')
    writeFileSync(
      containers,
      `[network]\nnetwork_backend = "netavark"\n[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n` +
        '[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n',
    )
    writeFileSync(
      storage,
      `[storage]\ndriver = "overlay"\ngraphroot = "${join(CACHE, 'storage')}"\nrunroot = "${join(CACHE, 'run')}"\n`,
    )
    this.#env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|SHOAL_|INIT_CWD$)/.test(name))),
      CONTAINERS_CONF: containers,
      CONTAINERS_STORAGE_CONF: storage,
      BUILDAH_ISOLATION: 'chroot',
      // The other format of images has no health checks.
      BUILDAH_FORMAT: 'docker',
      DOCKER_HOST: `unix://${this.socket}`,
      DEBIAN_FRONTEND: 'noninteractive',
    }
  }

  run(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
    return new Promise((resolve) => {
      const options = { env: { ...this.#env, ...env }, maxBuffer: 2 ** 28 }
      execFile(command, args, options, (error, out, err) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error === null ? 0 : -1, out, err })
      })
    })
  }

  /** The output of a command that must succeed. */
  async must(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const { code, out, err } = await this.run(command, args, env)
    if (code === 0) return out
    const tail = `${out}\n${err}`.trim().split('\n').slice(-15).join('\n  ')
    throw new StepFailed(`${command} ${args.join(' ')} ended with exit code ${code}:\n  ${tail}`)
  }

  shell(script: string): Promise<string> {
    return this.must('sh', ['-euc', script])
  }

  async installTools(): Promise<string> {
    if (process.platform !== 'linux' || process.getuid?.() !== 0)
      throw new StepFailed('This builds images and starts containers with podman: run it as root, on Linux.')
    const absent: string[] = []
    for (const [program, name] of Object.entries(PROGRAMS))
      if ((await this.run('sh', ['-c', `command -v ${program}`])).code !== 0) absent.push(name)
    for (const [file, name] of Object.entries(LIBRARIES)) if (!existsSync(file)) absent.push(name)
    if (absent.length === 0) return 'all there'
    if ((await this.run('sh', ['-c', 'command -v apt-get'])).code !== 0)
      throw new StepFailed(`Install these first, and run again: ${absent.join(' ')}`)
    const wait = ['-o', 'DPkg::Lock::Timeout=300', '-qq']
    await this.must('apt-get', [...wait, 'update'])
    await this.must('apt-get', [...wait, 'install', '-y', '--no-install-recommends', ...absent])
    return absent.join(' ')
  }

  /** The API of Docker, served by podman, for docker-compose. Returns the function that ends it. */
  async serveApi(): Promise<() => void> {
    const service = spawn('podman', ['system', 'service', '--time=0', `unix://${this.socket}`], {
      env: this.#env,
      stdio: 'ignore',
    })
    for (let waited = 0; !existsSync(this.socket); waited++) {
      if (waited === 50) throw new StepFailed('podman system service does not start')
      await pause(200)
    }
    return () => service.kill('SIGTERM')
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
