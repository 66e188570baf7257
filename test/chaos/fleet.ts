import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BIN } from '../support/cli.js'
import type { Place } from '../support/place.js'
import { childOf, forkTypeScript } from './children.js'
import type { Recorder } from './history.js'
import type { ChaosWorkerOrder } from './worker.js'

export interface FleetOptions {
  readonly size: number
  readonly dir: string
  readonly injector: Recorder
  /** `recorded` writes a history; `product` is `shoal worker` as users start it. */
  readonly kind: 'recorded' | 'product'
  order(slot: number): Omit<ChaosWorkerOrder, 'id' | 'dir'>
  /** Which host the worker of this slot runs on; this one when left out. */
  readonly place?: (slot: number) => Pick<Place, 'within'>
  /** Flags of Node. */
  readonly execArgv?: readonly string[]
  /** How many files and sockets it may open beside those that it has when it starts to work. */
  readonly spareFiles?: number
}

export interface ShutDown {
  readonly slot: number
  /** Exit code, or the signal that ended it. */
  readonly exit: number | string
  readonly ms: number
}

interface Slot {
  readonly index: number
  child: ChildProcess | null
  id: string
  frozen: boolean
  /** Not started again when it ends. */
  stopped: boolean
}

/** The worker processes, each started again when it ends unasked, as an orchestrator would. */
export class Fleet {
  readonly #options: FleetOptions
  readonly #slots: Slot[]
  readonly #log: number
  #started = 0
  #closing = false
  /** Ends by SIGKILL, its own or ours. */
  killed = 0
  /** Starts that failed, because Redis was away. */
  refused = 0
  /** Ends that nobody caused: exit codes other than 0 of workers that were not killed. */
  readonly crashes: string[] = []

  constructor(options: FleetOptions) {
    this.#options = options
    this.#log = openSync(join(options.dir, 'workers.log'), 'a')
    this.#slots = Array.from({ length: options.size }, (_, index) => ({
      index,
      child: null,
      id: '',
      frozen: false,
      stopped: false,
    }))
  }

  start(): void {
    for (const slot of this.#slots) this.#launch(slot)
  }

  get size(): number {
    return this.#slots.length
  }

  get started(): number {
    return this.#started
  }

  #launch(slot: Slot): void {
    if (this.#closing || slot.stopped) return
    const { dir, kind, order, place, execArgv = [], spareFiles } = this.#options
    const within = place?.(slot.index).within ?? []
    slot.id = `w${slot.index}-${++this.#started}`
    const asked = { ...order(slot.index), id: slot.id, dir }
    const child =
      kind === 'recorded'
        ? forkTypeScript('./worker.ts', asked, { stderr: this.#log, execArgv, within })
        : this.#product(asked, within)
    slot.child = child
    slot.frozen = false
    let ready = kind === 'product'
    child.once('message', () => {
      ready = true
      if (spareFiles !== undefined) setTimeout(() => limitFiles(child, spareFiles), SETTLED_MS)
    })
    child.once('exit', (code, signal) => {
      if (slot.child !== child) return
      slot.child = null
      // Also for deaths that the fleet did not cause: a failpoint, the end of its memory.
      if (code !== 0) this.#fault('kill', slot.id)
      if (signal === 'SIGKILL') this.killed++
      // One that does not find its queue when it starts says so and ends: whoever runs it starts it again.
      else if (code !== 0 && !ready) this.refused++
      else if (code !== 0) this.crashes.push(`${slot.id}: ${signal ?? code}`)
      setTimeout(() => this.#launch(slot), RESTART_MS)
    })
  }

  #product(order: ChaosWorkerOrder, within: readonly string[]): ChildProcess {
    const { queue, store, spider, concurrency } = order
    const shoal = [process.execPath, BIN, 'worker', spider, '--queue', queue, '--store', store]
    const [command = '', ...args] = [...within, ...shoal, '--concurrency', String(concurrency)]
    return childOf(spawn(command, args, { stdio: ['ignore', this.#log, this.#log] }))
  }

  idOf(slot: number): string {
    return this.#slots[slot]?.id ?? ''
  }

  /** `kill -9` of one that runs; false when there is none. */
  kill(pick: number): boolean {
    const slot = this.#running(pick)
    return slot?.child?.kill('SIGKILL') ?? false
  }

  /** SIGSTOP of one worker, and SIGCONT after `ms`. */
  async freeze(pick: number, ms: number): Promise<boolean> {
    const slot = this.#running(pick)
    if (slot === null) return false
    await this.#freeze([slot], ms)
    return true
  }

  async freezeAll(ms: number): Promise<number> {
    const slots = this.#slots.filter(({ child, frozen }) => child !== null && !frozen)
    await this.#freeze(slots, ms)
    return slots.length
  }

  async #freeze(slots: readonly Slot[], ms: number): Promise<void> {
    const children = slots.map(({ child, id }) => ({ child, id }))
    for (const slot of slots) {
      slot.frozen = true
      slot.child?.kill('SIGSTOP')
      this.#fault('freeze', slot.id)
    }
    await sleep(ms)
    for (const { child } of children) child?.kill('SIGCONT')
    for (const slot of slots) slot.frozen = false
  }

  /** SIGTERM, and SIGKILL after ten seconds. Answers how long it took; null when it had to be killed. */
  async terminate(pick: number): Promise<number | null> {
    const slot = this.#running(pick)
    if (slot?.child == null) return null
    const { child } = slot
    const began = performance.now()
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
    const [code] = (await exited) as [number | null]
    clearTimeout(late)
    return code === 0 ? performance.now() - began : null
  }

  async terminateAll(): Promise<(number | null)[]> {
    return Promise.all(this.#slots.map(({ index }) => this.terminate(index)))
  }

  killAll(): number {
    return this.#slots.filter(({ child }) => child?.kill('SIGKILL')).length
  }

  /** Ends them all, for good. */
  async close(): Promise<void> {
    this.#closing = true
    await Promise.all(
      this.#slots.map(async ({ child }) => {
        if (child === null) return
        const exited = once(child, 'exit')
        child.kill('SIGCONT')
        child.kill('SIGTERM')
        const late = setTimeout(() => child.kill('SIGKILL'), 10_000)
        await exited
        clearTimeout(late)
      }),
    )
  }

  /** SIGTERM to all, for good, as when a fleet is shut down: how each of them ended. One that does not end in time is killed. */
  async shutDown(withinMs: number): Promise<ShutDown[]> {
    this.#closing = true
    const ends = this.#slots.map(async ({ child, index }): Promise<ShutDown[]> => {
      if (child === null) return []
      const began = performance.now()
      const exited = once(child, 'exit')
      child.kill('SIGCONT')
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), withinMs)
      const [code, signal] = (await exited) as [number | null, NodeJS.Signals | null]
      clearTimeout(late)
      return [{ slot: index, exit: code ?? signal ?? 'unknown', ms: performance.now() - began }]
    })
    return (await Promise.all(ends)).flat()
  }

  pids(): number[] {
    return this.#slots.flatMap(({ child }) => child?.pid ?? [])
  }

  /** The picked one, or the next that runs and is not frozen. */
  #running(pick: number): Slot | null {
    for (let step = 0; step < this.#slots.length; step++) {
      const slot = this.#slots[(pick + step) % this.#slots.length]
      if (slot?.child != null && !slot.frozen) return slot
    }
    return null
  }

  #fault(fault: string, target: string): void {
    this.#options.injector.record([{ op: 'fault', phase: 'info', id: '', epoch: '', host: '', fault, target }])
  }
}

const RESTART_MS = 100
/** Until its threads have opened what they need. */
const SETTLED_MS = 2_000

function limitFiles({ pid, exitCode, signalCode }: ChildProcess, spare: number): void {
  if (exitCode !== null || signalCode !== null) return
  const files = readdirSync(`/proc/${pid}/fd`).length + spare
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${files}:${files}`])
}
