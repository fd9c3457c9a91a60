"""OpenMM: 300 steps of a box of charged particles with PME."""
import openmm
from openmm import unit

system, force = openmm.System(), openmm.NonbondedForce()
force.setNonbondedMethod(openmm.NonbondedForce.PME)
force.setCutoffDistance(0.9)
places = []
for i in range(1000):
    system.addParticle(30)
    force.addParticle(0.3 if i % 2 else -0.3, 0.25, 0.4)
    places.append((i % 10 * 0.4, i // 10 % 10 * 0.4, i // 100 * 0.4))
system.setDefaultPeriodicBoxVectors((4, 0, 0), (0, 4, 0), (0, 0, 4))
system.addForce(force)
platform = openmm.Platform.getPlatformByName("OpenCL")
context = openmm.Context(system, openmm.VerletIntegrator(0.001), platform, {"Precision": "double"})
context.setPositions(places)
context.getIntegrator().step(300)
energy = context.getState(getEnergy=True).getPotentialEnergy()
print(f"{energy.value_in_unit(unit.kilojoule_per_mole):.3f}")
