import { memoryLedger } from '../../src/proxy/memory/memory-ledger.js'
import { type MakeLedger, proxyLedgerContract } from '../contract/proxy-ledger-contract.js'
import { proxyLedgerProperties } from './ledger-properties.js'

const inMemory: MakeLedger = async (clock) => ({ ledger: memoryLedger({ clock }), close: async () => {} })

proxyLedgerContract('memory', inMemory)
proxyLedgerProperties('memory', inMemory, 200)
