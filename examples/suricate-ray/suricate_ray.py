"""Ranks that are actors of Ray: an engine as a plugin. ``run(job)`` starts them; messages are calls of actors."""

from collections import defaultdict

import ray
from ray.exceptions import RayActorError

from suricate.errors import CommunicationError
from suricate.parallel import PeerComm, using
from suricate.plugins import hookimpl


class RayComm(PeerComm):
    """Communication of a rank that is an actor; Ray may carry out calls in another order than that of the caller."""

    name = "ray"
    skip = (__file__,)

    def __init__(self, rank, actors):
        super().__init__(rank, len(actors))
        self.actors, self.sent, self.taken, self.early = actors, defaultdict(int), defaultdict(int), {}

    @classmethod
    def join(cls):
        """Refuse what is no rank."""
        raise CommunicationError("connect('ray'): this process is no rank; suricate_ray.run(job) starts job(comm)")

    def send(self, rank, message):
        """Call the actor of ``rank``."""
        number = self.sent[rank]
        self.sent[rank] += 1
        self.actors[rank].take.remote(self.rank, number, message)

    def take(self, rank, number, message):
        """Deliver message ``number`` of ``rank`` when those before it have come."""
        self.early[rank, number] = message
        while (message := self.early.pop((rank, self.taken[rank]), None)) is not None:
            self.taken[rank] += 1
            self.deliver(rank, message)


@ray.remote(concurrency_groups={"mail": 1})
class Rank:
    """An actor: one thread runs the job, another takes messages."""

    def meet(self, rank, actors):
        """Be this rank among ``actors``."""
        self.comm = RayComm(rank, actors)

    def run(self, job):
        """Run the job on this rank."""
        how = "has ended"
        try:
            with using(self.comm):
                return job(self.comm)
        except BaseException as error:
            how = f"has raised {type(error).__name__}: {error}"
            raise
        finally:
            self.comm.end(how)

    @ray.method(concurrency_group="mail")
    def take(self, *message):
        """Take a message of another rank."""
        self.comm.take(*message)

    @ray.method(concurrency_group="mail")
    def lose(self, rank):
        """Note that the actor of ``rank`` has died."""
        self.comm.lose(rank)


def run(job, ranks=2):
    """Call ``job(comm)`` on as many actors; return the answers in rank order, or raise what the first has raised."""
    actors = [Rank.remote() for _ in range(ranks)]
    ray.get([actor.meet.remote(rank, actors) for rank, actor in enumerate(actors)])
    running, answers, errors = {actor.run.remote(job): rank for rank, actor in enumerate(actors)}, {}, {}
    while running:
        (done, *_), _ = ray.wait([*running])
        rank = running.pop(done)
        try:
            answers[rank] = ray.get(done)
        except RayActorError as error:
            errors[rank] = CommunicationError(f"rank {rank} is gone: {error}")
            for other in running.values():
                actors[other].lose.remote(rank)
        except Exception as error:
            errors[rank] = error.cause
    for actor in actors:
        ray.kill(actor)
    for _, error in sorted(errors.items(), key=lambda each: (isinstance(each[1], CommunicationError), each[0])):
        raise error
    return [answers[rank] for rank in range(ranks)]


@hookimpl
def suricate_comms():
    """Return the communication of ranks that are actors."""
    return [RayComm]
