/** How full the place of the queue is. */
export interface Capacity {
  readonly usedBytes: number
  readonly limitBytes: number
  /** `memory`: of Redis. `disk`: where the file of the queue lies. */
  readonly what: 'memory' | 'disk'
}
